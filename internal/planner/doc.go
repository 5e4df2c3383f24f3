// Package planner is the use case behind `shakedown plan`: it reads the files
// that a launch names, builds the question for the engine's resolver, and turns
// the answer into messages. It needs no GPU, no engine and no Python.
//
//	command, model files, GPUs, versions -> plan.Case -> resolver -> messages
package planner
