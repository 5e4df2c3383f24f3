// Package endpointtest plays inference servers, one per engine, in the shapes of
// their real answers, and holds the contract that every dialect of package endpoint
// has to keep: whatever an engine calls things, the same question gets the same
// answer.
//
// The model behind the servers is a few lines of arithmetic over a vocabulary of
// characters, so that logprobs are known, repeatable and different at every place.
package endpointtest
