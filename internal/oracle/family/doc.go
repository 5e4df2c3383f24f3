// Package family says what each supported model family is made of: it reads a
// config.json strictly, with the family's own defaults, and returns a Spec, a
// plain description of every layer. It computes nothing and reads no weights;
// package oracle runs a Spec.
//
// Terms: GQA is attention with grouped key and value heads; MLA is multi-head
// latent attention, where one low-rank latent vector per token stands for all
// keys and values; the indexer is the small scorer of DeepSeek sparse
// attention (DSA) that picks the positions which MLA may look at; MTP layers
// are the extra decoder layers, numbered behind the others, that draft the
// token after the next one.
//
// A family of known blocks is one file with one function, and one line in
// Families.
package family
