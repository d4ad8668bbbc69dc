package systemsnapshots

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/inventory/systems"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/risk"
)

// Host is the read access to Proxmox VE.
type Host interface {
	// Guests returns the guests that the token may see.
	Guests(ctx context.Context) ([]pve.Guest, error)
	// GuestConfig returns the configuration of a guest.
	GuestConfig(ctx context.Context, guest pve.Guest) (pve.GuestConfig, error)
	// SnapshotConfig returns the configuration that a snapshot of a guest has.
	SnapshotConfig(ctx context.Context, guest pve.Guest, snapshot string) (pve.GuestConfig, error)
	// Snapshots returns the snapshots of a guest, the oldest first.
	Snapshots(ctx context.Context, guest pve.Guest) ([]pve.Snapshot, error)
	// Storages returns the storages of a host.
	Storages(ctx context.Context, node string) ([]pve.Storage, error)
}

// Wanted is a snapshot that is to be taken of a system before it is changed.
type Wanted struct {
	// System is its name in the inventory.
	System string
	// Guest is the system on its host.
	Guest pve.Guest
	// Changes are what is changed, in words.
	Changes []string
	// Standing is the snapshot from before an earlier run that changed the system and did not succeed. It stays the way back, and no other is
	// taken. It is empty if there is none.
	Standing string
}

// Foresee returns the snapshots to be taken before a run of a stack, and adds them to the assessment. A change that Proxmox VE refuses because of
// snapshots becomes impossible there. It asks the host only about systems of which snapshots are taken, and about such changes.
func Foresee(ctx context.Context, host Host, stack string, all []systems.System, steps []plan.Step, assessment *risk.Assessment) ([]Wanted, error) {
	var wanted []Wanted
	var guests []pve.Guest
	for i := range assessment.Findings {
		f := &assessment.Findings[i]
		at := slices.IndexFunc(all, func(s systems.System) bool { return s.Name == f.Subject })
		if at < 0 || f.Kind != risk.Change && f.Kind != risk.Reboot {
			continue
		}
		one := subject{System: all[at], stack: stack, step: stepOf(steps, all[at].VMID), finding: f}
		if one.KeptSnapshots() == 0 && !one.mayBeHeld() {
			continue
		}
		if guests == nil {
			var err error
			if guests, err = host.Guests(ctx); err != nil {
				return nil, unread("the list of guests", err)
			}
		}
		taken, notes, err := one.foresee(ctx, host, guests)
		if err != nil {
			return nil, err
		}
		wanted = append(wanted, taken...)
		assessment.Notes = append(assessment.Notes, notes...)
	}
	return wanted, nil
}

// subject is a system that is changed.
type subject struct {
	systems.System

	stack   string
	step    plan.Step // of the virtual machine; empty if it is no machine, or the machine itself does not change
	finding *risk.Finding
}

// foresee returns the snapshot to be taken of one system, none if the system is to have none, or if its change is impossible, and notes about
// snapshots that are not whole.
func (s subject) foresee(ctx context.Context, host Host, guests []pve.Guest) ([]Wanted, []string, error) {
	at := slices.IndexFunc(guests, func(g pve.Guest) bool { return g.VMID == s.VMID })
	if at < 0 {
		return nil, nil, fmt.Errorf("%s (VMID %d) is on no host that the token sees, so nothing is known of its snapshots: run up again, with the refresh", s.Name, s.VMID)
	}
	guest := guests[at]
	taken, err := host.Snapshots(ctx, guest)
	if err != nil {
		return nil, nil, unread("the snapshots of "+s.Name, err)
	}
	wanted := Wanted{System: s.Name, Guest: guest, Changes: slices.Clone(s.finding.What), Standing: standing(s.stack, taken)}
	held, err := s.held(ctx, host, wanted, taken)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case !held.isFree():
		s.refuse(guest, held)
		return nil, nil, nil
	case s.KeptSnapshots() == 0:
		return nil, nil, nil
	}
	s.finding.Means = append(s.finding.Means, s.meaning(wanted.Standing))
	return []Wanted{wanted}, broken(s.Name, guest, taken), nil
}

// meaning returns the sentence about what happens to the snapshots of the system.
func (s subject) meaning(standing string) string {
	switch {
	case standing != "":
		return fmt.Sprintf("no snapshot is taken: %s is from before the change that has not succeeded", standing)
	case s.KeptSnapshots() == 1:
		return "a snapshot is taken first, and only that one stays when the run has succeeded"
	default:
		return fmt.Sprintf("a snapshot is taken first, and the newest %d stay when the run has succeeded", s.KeptSnapshots())
	}
}

// refuse makes the change impossible.
func (s subject) refuse(guest pve.Guest, held hold) {
	var ways []string
	if s.KeptSnapshots() > 0 && held.always {
		ways = append(ways, fmt.Sprintf("set snapshots: {keep: 0} for %s until that is done", s.Name))
	}
	for _, drive := range held.inserted {
		ways = append(ways, fmt.Sprintf("empty the drive %[1]s of %[2]s as root on %[4]s: `qm set %[3]d --%[1]s none,media=cdrom`", drive, s.Name, guest.VMID, guest.Node))
	}
	switch len(held.by) {
	case 0:
	case 1:
		ways = append(ways, fmt.Sprintf("remove the snapshot %[1]s of %[2]s with `qm delsnapshot %[3]d %[1]s` on %[4]s", held.by[0], s.Name, guest.VMID, guest.Node))
	default:
		ways = append(ways, fmt.Sprintf("remove the snapshots of %s on %s, %s, each with `qm delsnapshot %d NAME`", s.Name, guest.Node, strings.Join(held.by, " and "), guest.VMID))
	}
	f := s.finding
	f.Kind, f.Means = risk.Impossible, nil
	if len(held.inserted) > 0 {
		f.What = append(f.What, fmt.Sprintf("Proxmox VE does not move a machine to another host with an ISO of a local storage in a drive (%s)", strings.Join(held.inserted, ", ")))
	}
	if len(held.why) > 0 {
		f.What = append(f.What, "cannot be done with snapshots: "+strings.Join(held.why, ", and "))
	}
	f.Undo = append(f.Undo, strings.Join(ways, " and "))
}

func unread(what string, err error) error {
	return fmt.Errorf("%s cannot be read (%w), so it is not known whether snapshots are possible: see that the host answers, then run again", what, err)
}
