package sglang

import (
	"sync"

	"shakedown/internal/flags"
	"shakedown/internal/plan"
)

type step = plan.Step[*state]

// versions makes a range of data that belongs to this package.
func versions(text string) flags.Range {
	r, err := flags.ParseRange(text)
	if err != nil {
		panic(err) // data of this package
	}
	return r
}

// Steps are all steps in their order; a release runs those whose versions hold
// it. They are for listing: only Resolve runs them.
func Steps() []plan.Step[*state] { return append(append([]step{}, resolveSteps()...), checkSteps()...) }

// stepLists are the steps of each release, made when first needed.
var stepLists = sync.OnceValue(func() (lists []struct{ resolve, check []step }) {
	for _, k := range known {
		v, _ := flags.ParseVersion(k.version)
		lists = append(lists, struct{ resolve, check []step }{plan.For(resolveSteps(), v), plan.For(checkSteps(), v)})
	}
	return lists
})
