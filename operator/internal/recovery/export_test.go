package recovery

import "context"

// TakeOn claims a stack as a process elsewhere does.
func TakeOn(ctx context.Context, at Place, claim Claim) (*Claim, error) { return claim.take(ctx, at) }

// OwnClaim and PipelineRun describe this process.
var (
	OwnClaim    = ownClaim
	PipelineRun = pipelineRun
)
