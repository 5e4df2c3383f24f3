package kernel

// lanes are the partial sums of one dot product.
type lanes [16]float32

// sum folds the lanes in the fixed order.
func (a *lanes) sum() float32 {
	var b [8]float32
	for i := range b {
		b[i] = a[i] + a[i+8]
	}
	for i := range 4 {
		b[i] += b[i+4]
	}
	b[0] += b[2]
	b[1] += b[3]
	return b[0] + b[1]
}

// dotLanes adds the products of a and b to the lanes, for any length; the first
// element goes to lane 0.
func dotLanes(acc *lanes, a, b []float32) {
	b = b[:len(a)]
	for i, v := range a {
		acc[i&15] += float32(v * b[i])
	}
}
