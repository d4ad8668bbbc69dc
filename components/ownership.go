package components

import (
	"sync"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumiverse/pulumi-talos/sdk/go/talos/machine"

	"github.com/em-infra/em-infra/internal/ownership"
)

// Ownership identifies the stack and the cluster that machines belong to. Pass the same value to the templates and to the
// cluster: the templates need it before the cluster exists, whose ID it waits for.
type Ownership struct {
	stack   string
	cluster pulumi.StringOutput
	settle  func(pulumi.Output)
}

// NewOwnership returns the ownership for one cluster of the running stack.
func NewOwnership(ctx *pulumi.Context) *Ownership {
	deferred, resolve := pulumi.DeferredOutput[string](ctx.Context())
	var once sync.Once
	return &Ownership{
		stack:   ctx.Stack(),
		cluster: pulumi.StringOutput{OutputState: deferred.OutputState},
		settle:  func(cluster pulumi.Output) { once.Do(func() { resolve(cluster) }) },
	}
}

// Abandon reports that there will be no cluster because of err: everything that waits for its ID fails with err, so that the program can end. It
// does nothing if err is nil, or if the cluster exists.
func (o *Ownership) Abandon(ctx *pulumi.Context, err error) {
	if o == nil || err == nil {
		return
	}
	never, _, reject := ctx.NewOutput()
	reject(err)
	o.settle(never)
}

// of sets the cluster, by the ID that Talos gave it. The short form of the ID is not secret.
func (o *Ownership) of(secrets *machine.Secrets) {
	if o == nil {
		return
	}
	o.settle(pulumi.Unsecret(secrets.MachineSecrets.Cluster().Id().ApplyT(ownership.Short)))
}

// describe returns the description of a machine in Proxmox VE: what it is, and which stack and cluster it belongs to.
func (o *Ownership) describe(what, more string) pulumi.StringInput {
	if o == nil {
		return pulumi.String(what + ", made by em-infra." + more)
	}
	return o.cluster.ApplyT(func(cluster string) string {
		return what + ", " + ownership.Owner{Stack: o.stack, Cluster: cluster}.Mark() + "." + more
	}).(pulumi.StringOutput)
}
