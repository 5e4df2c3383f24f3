module shakedown

go 1.26
