package pve

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/luthermonson/go-proxmox"
)

// creators are the tasks by which a host makes an empty machine before it fills it (qemu-server API2/Qemu.pm, create_vm).
var creators = []string{"qmcreate", "qmrestore"}

// clearUnfinished deals with what an interrupted creation has left at the VMID of a template. It waits while a task still works there, then deletes
// the machine if it is empty, and reports whether the VMID is free afterwards. It deletes an empty machine only if our own user began its creation.
// The description, which identifies a complete template, is written at the very end of the creation.
func (c Connection) clearUnfinished(ctx context.Context, host Host, guest Guest) (free bool, err error) {
	config, err := Reader{host.client}.GuestConfig(ctx, guest)
	if err == nil && guest.Lock != "create" && !config.IsEmpty() {
		return false, nil
	}
	machine, err := host.Settle(ctx, guest.Node, guest.VMID) // its error states what is wrong if the configuration could not be read
	if err != nil || machine == nil {
		return err == nil, err
	}
	if !machine.Empty {
		return false, nil
	}
	ours, err := c.hasBegun(ctx, host, guest)
	if err != nil {
		return false, err
	}
	if !ours || machine.Running {
		return false, fmt.Errorf("VM %d on %s is empty, and its tasks do not say that em-infra has begun to make it: look at it, delete it with `qm destroy %d --purge` on %s if it is not needed, then run up again",
			guest.VMID, guest.Node, guest.VMID, guest.Node)
	}
	return true, host.Delete(ctx, guest.Node, guest.VMID)
}

// hasBegun reports whether the newest creation of a machine was begun by the user of our token. A clone is no such creation: its half-made machine
// has a description (API2/Qemu.pm, clone_vm), so it does not count as ours.
func (c Connection) hasBegun(ctx context.Context, host Host, guest Guest) (bool, error) {
	described, err := c.describedAs(ctx, host.client, guest.Node, guest.Type, guest.VMID)
	if err != nil || described != "" {
		return false, err
	}
	tasks, err := host.node(guest.Node).Tasks(ctx, &proxmox.NodeTasksOptions{VMID: guest.VMID, Source: "all", Limit: taskHistory})
	if err != nil {
		return false, fmt.Errorf("the tasks of VM %d on %s cannot be read (%w): see that the host answers, then run up again", guest.VMID, guest.Node, withoutURL(err))
	}
	var newest time.Time
	beginner := ""
	for _, task := range tasks {
		if task.ID == strconv.Itoa(guest.VMID) && slices.Contains(creators, task.Type) && !task.StartTime.Before(newest) {
			newest, beginner = task.StartTime, task.Type+" "+task.User
		}
	}
	user, _, _ := strings.Cut(c.Token, "!")
	return beginner == "qmcreate "+user, nil
}
