package qemu

import (
	"context"
	"strconv"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// Operations of the HA manager, by tasks of root. Each returns when its task has ended; the result shows in the state of the
// VM. They return an error when the host goes down.

// Start starts a VM.
func (s *Service) Start(ctx context.Context, node string, vmid int) error {
	return s.asRoot(s.power.StartHere, &api.Call{Ctx: ctx, Node: node, VMID: vmid})
}

// Stop cuts the power of a VM.
func (s *Service) Stop(ctx context.Context, node string, vmid int) error {
	return s.asRoot(s.power.StopHere, &api.Call{Ctx: ctx, Node: node, VMID: vmid})
}

// Shutdown presses the power button of a VM, and cuts its power after the given number of seconds.
func (s *Service) Shutdown(ctx context.Context, node string, vmid, seconds int) error {
	return s.asRoot(s.power.ShutdownHere, &api.Call{Ctx: ctx, Node: node, VMID: vmid, Params: schema.Params{
		"timeout": schema.Scalar(strconv.Itoa(seconds)), "forceStop": schema.Scalar("1"),
	}})
}

// Migrate moves a VM with its local disks to another node.
func (s *Service) Migrate(ctx context.Context, node string, vmid int, target string) error {
	return s.asRoot(s.migrate.Here, &api.Call{Ctx: ctx, Node: node, VMID: vmid, Params: schema.Params{
		"target": schema.Scalar(target), "online": schema.Scalar("1"), "with-local-disks": schema.Scalar("1"),
	}})
}

// asRoot starts a task as root and waits for its end.
func (s *Service) asRoot(begin func(*api.Call) (string, error), c *api.Call) error {
	c.Identity = access.Root

	upid, err := begin(c)
	if err != nil {
		return err
	}

	return s.env.Tasks.Await(c.Ctx, upid)
}
