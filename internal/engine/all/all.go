// Package all lists the serving engines that shakedown knows. The list is
// explicit: nothing registers itself.
package all

import (
	"shakedown/internal/engine"
	"shakedown/internal/engine/llamacpp"
	"shakedown/internal/engine/lmdeploy"
	"shakedown/internal/engine/sglang"
	"shakedown/internal/engine/trtllm"
	"shakedown/internal/engine/vllm"
)

// List holds every engine. Its order settles ties when a paste could come from
// several.
var List = []*engine.Engine{
	&sglang.Engine,
	&vllm.Engine,
	&llamacpp.Engine,
	&trtllm.Engine,
	&lmdeploy.Engine,
}
