// Package planner is the use case behind `shakedown plan`: it reads the files
// that a launch names, builds the question for the engine's resolver, and turns
// the answer into messages. It needs no GPU, no engine and no Python.
//
//	command, model files, GPUs, versions -> plan.Case -> resolver -> messages
//
// Terms: a lever is a change of the command that could lead elsewhere; a
// counterfactual is the same launch with a lever pulled, resolved again. What a
// refused or ignored option would need instead is found that way and not from a
// list, so it holds for the release that was asked about.
package planner
