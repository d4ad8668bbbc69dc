package components

import (
	"sync"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumiverse/pulumi-talos/sdk/go/talos/machine"

	"github.com/em-infra/em-infra/internal/ownership"
)

// Ownership is whose the machines of a cluster are. Its templates are given it before the cluster is there, whose ID it takes:
// give the same one to the templates and to the cluster.
type Ownership struct {
	stack   string
	cluster pulumi.StringOutput
	settle  func(pulumi.Output)
}

// NewOwnership is that of one cluster of the running stack.
func NewOwnership(ctx *pulumi.Context) *Ownership {
	deferred, resolve := pulumi.DeferredOutput[string](ctx.Context())
	var once sync.Once
	return &Ownership{
		stack:   ctx.Stack(),
		cluster: pulumi.StringOutput{OutputState: deferred.OutputState},
		settle:  func(cluster pulumi.Output) { once.Do(func() { resolve(cluster) }) },
	}
}

// Abandon says that there will be no cluster, for the reason that err gives: what waits for its ID fails by that, and the
// program ends. Nothing happens where err is nil, or where the cluster is there.
func (o *Ownership) Abandon(ctx *pulumi.Context, err error) {
	if o == nil || err == nil {
		return
	}
	never, _, reject := ctx.NewOutput()
	reject(err)
	o.settle(never)
}

// of says which cluster it is, by the ID that Talos gave it. Its short form is no secret.
func (o *Ownership) of(secrets *machine.Secrets) {
	if o == nil {
		return
	}
	o.settle(pulumi.Unsecret(secrets.MachineSecrets.Cluster().Id().ApplyT(ownership.Short)))
}

// describe is the description of a machine in Proxmox VE: what it is, and whose.
func (o *Ownership) describe(what, more string) pulumi.StringInput {
	if o == nil {
		return pulumi.String(what + ", made by em-infra." + more)
	}
	return o.cluster.ApplyT(func(cluster string) string {
		return what + ", " + ownership.Owner{Stack: o.stack, Cluster: cluster}.Mark() + "." + more
	}).(pulumi.StringOutput)
}
