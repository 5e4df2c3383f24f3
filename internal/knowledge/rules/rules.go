// Package rules embeds the built-in rule folders, <area>/<ID>/, into the
// binary. Package knowledge loads and judges them.
package rules

import "embed"

// FS holds the rule folders, without their fixtures.
//
//go:embed */*/rule.yaml
var FS embed.FS
