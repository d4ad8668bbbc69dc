package systemsnapshots_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/inventory/systems"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/risk"
	"github.com/em-infra/em-infra/operator/internal/systemsnapshots"
)

// host is a Proxmox VE host with a machine and a container.
type host struct {
	disk     string                       // of the machine
	config   pve.GuestConfig              // of the machine; nil for one with that disk alone
	shared   bool                         // whether the storage tank is shared
	taken    []pve.Snapshot               // each has the disk
	without  map[string][]string          // the drives that a snapshot does not have
	with     map[string]map[string]string // the settings that only a snapshot has
	fails    string                       // the call that fails
	requests int
}

var errAway = errors.New("connection refused")

func (h *host) answer(call string) error {
	h.requests++
	if h.fails == call {
		return errAway
	}
	return nil
}

func (h *host) Guests(context.Context) ([]pve.Guest, error) {
	return []pve.Guest{
		{VMID: 210, Node: "vmhost", Type: pve.TypeVM}, {VMID: 211, Node: "vmhost", Type: pve.TypeContainer},
	}, h.answer("guests")
}

func (h *host) GuestConfig(context.Context, pve.Guest) (pve.GuestConfig, error) {
	return h.now(), h.answer("config")
}

func (h *host) now() pve.GuestConfig {
	if h.config != nil {
		return maps.Clone(h.config)
	}
	return pve.GuestConfig{"scsi0": h.disk + ",size=16G"}
}

func (h *host) SnapshotConfig(_ context.Context, _ pve.Guest, snapshot string) (pve.GuestConfig, error) {
	then := h.now()
	for _, drive := range h.without[snapshot] {
		delete(then, drive)
	}
	maps.Copy(then, h.with[snapshot])
	return then, h.answer("snapshot config")
}

func (h *host) Snapshots(context.Context, pve.Guest) ([]pve.Snapshot, error) {
	return h.taken, h.answer("snapshots")
}

func (h *host) Storages(context.Context, string) ([]pve.Storage, error) {
	return []pve.Storage{{Name: "tank", Shared: pve.Flag(h.shared)}}, h.answer("storages")
}

// both are a machine and a container.
func both(keep int) []systems.System {
	return []systems.System{
		{Name: "tools", VMID: 210, Snapshots: &systems.Snapshots{Keep: keep}}, {Name: "pihole", VMID: 211, Snapshots: &systems.Snapshots{Keep: keep}},
	}
}

// changed is an assessment of a change of the machine, and its step.
func changed(kind risk.Kind, paths ...string) ([]plan.Step, *risk.Assessment) {
	inputs := map[string]any{"vmId": 210.0, "disks": []any{
		map[string]any{"interface": "scsi0", "datastoreId": "tank"}, map[string]any{"interface": "scsi1", "datastoreId": "tank"},
	}}
	step := plan.Step{
		Op: apitype.OpUpdate, URN: resource.NewURN("s", "p", "", token.VirtualMachine, "home-tools-vm"), Old: inputs, New: inputs, Changed: paths,
	}
	return []plan.Step{step}, &risk.Assessment{Findings: []risk.Finding{
		{Kind: risk.Change, Subject: "home-image-9100", What: []string{"template of an image"}},
		{Kind: kind, Subject: "tools", What: []string{"memory 1024 → 2048 MiB"}, Means: []string{"it is away while it reboots"}},
	}}
}

func TestWhatIsTakenBeforeAChange(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kind  risk.Kind
		keep  int
		paths []string
		taken bool
		means string
	}{
		"a reboot":                         {risk.Reboot, 3, []string{"memory.dedicated"}, true, "a snapshot is taken first, and the newest 3 stay when the run has succeeded"},
		"a change in place":                {risk.Change, 1, []string{"tags"}, true, "a snapshot is taken first, and only that one stays when the run has succeeded"},
		"a ZFS disk that grows":            {risk.Change, 1, []string{"disks[0].size"}, true, "a snapshot is taken first, and only that one stays when the run has succeeded"},
		"a system without snapshots":       {risk.Reboot, 0, []string{"memory.dedicated"}, false, ""},
		"a new system":                     {risk.Create, 3, nil, false, ""},
		"a replacement, which deletes all": {risk.Replace, 3, []string{"vmId"}, false, ""},
		"a deletion":                       {risk.Delete, 3, nil, false, ""},
		"an impossible change":             {risk.Impossible, 3, []string{"disks[0].size"}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &host{disk: "tank:vm-210-disk-0"}
			steps, assessment := changed(test.kind, test.paths...)
			wanted, err := systemsnapshots.Foresee(t.Context(), h, "home", both(test.keep), steps, assessment)
			require.NoError(t, err)
			tools := assessment.Findings[1]
			require.Equal(t, test.kind, tools.Kind)
			if !test.taken {
				require.Empty(t, wanted)
				require.Equal(t, []string{"it is away while it reboots"}, tools.Means)
				require.Zero(t, h.requests, "the host is not asked")
				return
			}
			require.Equal(t, []systemsnapshots.Wanted{{
				System: "tools", Guest: pve.Guest{VMID: 210, Node: "vmhost", Type: pve.TypeVM}, Changes: []string{"memory 1024 → 2048 MiB"},
			}}, wanted)
			require.Equal(t, []string{"it is away while it reboots", test.means}, tools.Means)
		})
	}
}

// TestNoOtherSnapshotAfterAChangeThatFailed: the system is changed half way, and the snapshot from before the change stays the way back.
func TestNoOtherSnapshotAfterAChangeThatFailed(t *testing.T) {
	t.Parallel()
	const first, second = "em-infra-20261126-100000", "em-infra-20261126-110000"
	const failed, succeeded = "Made by em-infra for stack home, before a change that has not succeeded: tags\n", "Made by em-infra for stack home, before: tags\n"
	for name, test := range map[string]struct {
		taken    []pve.Snapshot
		standing string
	}{
		"none":                                {nil, ""},
		"one of a change that failed":         {[]pve.Snapshot{{Name: first, Description: succeeded}, {Name: second, Description: failed}, {Name: "mine"}}, second},
		"a later one of one that succeeded":   {[]pve.Snapshot{{Name: first, Description: failed}, {Name: second, Description: succeeded}}, ""},
		"another stack's":                     {[]pve.Snapshot{{Name: first, Description: "Made by em-infra for stack home-2, before a change that has not succeeded: tags"}}, ""},
		"one by hand with such a description": {[]pve.Snapshot{{Name: "mine", Description: failed}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps, assessment := changed(risk.Change, "tags")
			wanted, err := systemsnapshots.Foresee(t.Context(), &host{taken: test.taken}, "home", both(1), steps, assessment)
			require.NoError(t, err)
			require.Len(t, wanted, 1)
			require.Equal(t, test.standing, wanted[0].Standing)
			means := "a snapshot is taken first, and only that one stays when the run has succeeded"
			if test.standing != "" {
				means = "no snapshot is taken: " + test.standing + " is from before the change that has not succeeded"
			}
			require.Equal(t, means, assessment.Findings[1].Means[1])
		})
	}
}

// TestSnapshotsThatAreNotWhole: they do not count, and the preview says how to remove them.
func TestSnapshotsThatAreNotWhole(t *testing.T) {
	t.Parallel()
	h := &host{taken: []pve.Snapshot{{
		Name: "em-infra-20261126-100000", Description: "Made by em-infra for stack home, before a change that has not succeeded: tags", Unfinished: "prepare",
	}}}
	steps, assessment := changed(risk.Change, "tags")
	assessment.Findings = append(assessment.Findings, risk.Finding{Kind: risk.Change, Subject: "pihole", What: []string{"tags"}})
	wanted, err := systemsnapshots.Foresee(t.Context(), h, "home", both(1), steps, assessment)
	require.NoError(t, err)
	require.Equal(t, []string{"", ""}, []string{wanted[0].Standing, wanted[1].Standing})
	const way = " is incomplete (prepare) and cannot be restored: if no task works on it, remove it with "
	require.Equal(t, []string{
		"snapshot em-infra-20261126-100000 of tools" + way + "`qm delsnapshot 210 em-infra-20261126-100000 --force` on vmhost",
		"snapshot em-infra-20261126-100000 of pihole" + way + "`pct delsnapshot 211 em-infra-20261126-100000 --force` on vmhost",
	}, assessment.Notes)
}

// TestAContainerHasNoStepOfAMachine: its root grows by a Command.
func TestAContainerHasNoStepOfAMachine(t *testing.T) {
	t.Parallel()
	assessment := &risk.Assessment{Findings: []risk.Finding{{Kind: risk.Change, Subject: "pihole", What: []string{"disk 8 → 12 GiB"}}}}
	wanted, err := systemsnapshots.Foresee(t.Context(), &host{}, "home", both(2), nil, assessment)
	require.NoError(t, err)
	require.Len(t, wanted, 1)
	require.Equal(t, pve.TypeContainer, wanted[0].Guest.Type)
}

func TestChangesThatSnapshotsHold(t *testing.T) {
	t.Parallel()
	const (
		moves   = "cannot be done with snapshots: Proxmox VE does not move a disk that a snapshot has (scsi0)"
		local   = "cannot be done with snapshots: Proxmox VE does not move a machine to another host while a snapshot has one of its disks (%s), unless both hosts share the storage"
		isos    = "cannot be done with snapshots: Proxmox VE does not move a machine to another host while a snapshot has an ISO of a local storage (%s)"
		disc    = "Proxmox VE does not move a machine to another host with an ISO of a local storage in a drive (ide2)"
		empty   = "empty the drive ide2 of tools as root on vmhost: `qm set 210 --ide2 none,media=cdrom`"
		zero    = "set snapshots: {keep: 0} for tools until that is done"
		another = "remove the snapshot em-infra-20261126-100000 of tools with `qm delsnapshot 210 em-infra-20261126-100000` on vmhost"
	)
	mine := []pve.Snapshot{{Name: "mine"}, {Name: "em-infra-20261126-100000"}}
	remove := "remove the snapshots of tools on vmhost, mine and em-infra-20261126-100000, each with `qm delsnapshot 210 NAME`"
	failed := []pve.Snapshot{mine[0], {Name: mine[1].Name, Description: "Made by em-infra for stack home, before a change that has not succeeded: tags"}}
	two := pve.GuestConfig{"scsi0": "tank:vm-210-disk-0,size=16G", "scsi1": "tank:vm-210-disk-1,size=8G"}
	// A disk for the firmware, one for a TPM and a CD-ROM beside a shared disk, and what is no disk.
	firmware := pve.GuestConfig{
		"scsi0": "tank:vm-210-disk-0,size=16G", "efidisk0": "local-lvm:vm-210-disk-1,efitype=4m,size=4M", "tpmstate0": "local-lvm:vm-210-disk-2,size=4M",
		"ide2": "none,media=cdrom", "ide0": "local-lvm:vm-210-cloudinit,media=cdrom", "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0",
		"scsihw": "virtio-scsi-single", "unused0": "local-lvm:vm-210-disk-3",
	}
	// An ISO that is still in a snapshot, one that a user has put into another drive, and one that both hosts have.
	ejected := pve.GuestConfig{"scsi0": "tank:vm-210-disk-0,size=16G", "ide0": "none,media=cdrom"}
	inserted := pve.GuestConfig{"scsi0": "tank:vm-210-disk-0,size=16G", "ide2": "local:iso/debian.iso,media=cdrom,size=700M"}
	common := pve.GuestConfig{"scsi0": "tank:vm-210-disk-0,size=16G", "ide2": "tank:iso/debian.iso,media=cdrom,size=700M"}
	installer := map[string]string{"ide0": "local:iso/opnsense.iso,media=cdrom,size=1G"}
	for name, test := range map[string]struct {
		paths     []string
		keep      int
		host      host
		what, way string
	}{
		"a qcow2 file grows, snapshots are to be taken": {[]string{"disks[0].size"}, 1, host{disk: "local:210/vm-210-disk-0.qcow2"}, "", ""},
		"a qcow2 file with snapshots grows":             {[]string{"disks[0].size"}, 0, host{disk: "local:210/vm-210-disk-0.qcow2", taken: mine}, "", ""},
		"both":                                          {[]string{"disks[0].datastoreId"}, 2, host{disk: "tank:vm-210-disk-0", taken: mine}, moves, zero + " and " + remove},
		"a disk moves":                                  {[]string{"disks[0].datastoreId"}, 2, host{disk: "tank:vm-210-disk-0"}, moves, zero},
		"a disk moves and grows":                        {[]string{"disks[0].datastoreId", "disks[0].size"}, 2, host{disk: "local:210/a.qcow2"}, moves, zero},
		"another host":                                  {[]string{"nodeName"}, 2, host{disk: "tank:vm-210-disk-0"}, fmt.Sprintf(local, "scsi0"), zero},
		"a disk that was added after the snapshots moves": {
			[]string{"disks[1].datastoreId"}, 0, host{config: two, taken: mine, without: map[string][]string{"mine": {"scsi1"}, mine[1].Name: {"scsi1"}}}, "", "",
		},
		"a disk that only the later snapshot has moves": {
			[]string{"disks[0].datastoreId"}, 0, host{config: two, taken: mine, without: map[string][]string{"mine": {"scsi0"}}}, moves, another,
		},
		"a disk moves, and the way back from before it was added stays": {
			[]string{"disks[1].datastoreId"}, 2, host{config: two, taken: failed, without: map[string][]string{"mine": {"scsi1"}, mine[1].Name: {"scsi1"}}}, "", "",
		},
		"a disk moves that the way back has": {[]string{"disks[0].datastoreId"}, 2, host{config: two, taken: failed}, moves, zero + " and " + remove},
		"a disk that is gone moves":          {[]string{"disks[1].datastoreId"}, 2, host{disk: "tank:vm-210-disk-0", taken: mine}, "", ""},
		"another host, with local disks for the firmware and a TPM": {
			[]string{"nodeName"}, 0, host{config: firmware, shared: true, taken: mine}, fmt.Sprintf(local, "efidisk0, tpmstate0"), remove,
		},
		"another host, with a local disk that only a snapshot has": {
			[]string{"nodeName"}, 0, host{config: firmware, shared: true, taken: mine, without: map[string][]string{"mine": {"efidisk0", "tpmstate0"}, mine[1].Name: {"tpmstate0"}}},
			fmt.Sprintf(local, "efidisk0"), another,
		},
		"another host, with an ISO in a snapshot, after it was ejected": {
			[]string{"nodeName"}, 3, host{config: ejected, shared: true, taken: mine, with: map[string]map[string]string{mine[1].Name: installer}},
			fmt.Sprintf(isos, "ide0"), another,
		},
		"another host, with an ISO in two snapshots, one of them the way back": {
			[]string{"nodeName"}, 3, host{config: ejected, shared: true, taken: failed, with: map[string]map[string]string{"mine": installer, mine[1].Name: installer}},
			fmt.Sprintf(isos, "ide0"), remove,
		},
		"another host, with an ISO by hand in another drive": {[]string{"nodeName"}, 2, host{config: inserted, shared: true}, disc, empty},
		"another host, with a local disk and an ISO": {
			[]string{"nodeName"}, 2, host{config: inserted}, disc + "; " + fmt.Sprintf(local, "scsi0"), zero + " and " + empty,
		},
		"another host that shares the ISO":     {[]string{"nodeName"}, 2, host{config: common, shared: true, taken: mine}, "", ""},
		"a disk moves, with an ISO in a drive": {[]string{"disks[0].datastoreId"}, 0, host{config: inserted}, "", ""},
		"another host, without snapshots":      {[]string{"nodeName"}, 0, host{config: firmware}, "", ""},
		"another host that shares the storage": {[]string{"nodeName"}, 2, host{disk: "tank:vm-210-disk-0", shared: true}, "", ""},
		"a disk without snapshots moves":       {[]string{"disks[0].datastoreId"}, 0, host{disk: "tank:vm-210-disk-0"}, "", ""},
		"a disk with snapshots on ZFS grows":   {[]string{"disks[0].size"}, 0, host{disk: "tank:vm-210-disk-0", taken: mine}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps, assessment := changed(risk.Change, test.paths...)
			wanted, err := systemsnapshots.Foresee(t.Context(), &test.host, "home", both(test.keep), steps, assessment)
			require.NoError(t, err)
			tools := assessment.Findings[1]
			if test.what == "" {
				require.Equal(t, risk.Change, tools.Kind)
				require.Empty(t, assessment.Refusal(nil))
				return
			}
			require.Empty(t, wanted)
			require.Equal(t, risk.Impossible, tools.Kind)
			require.Equal(t, "memory 1024 → 2048 MiB; "+test.what, strings.Join(tools.What, "; "))
			require.Equal(t, "refused: "+test.way, assessment.Refusal(nil))
		})
	}
}

func TestAHostThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for call, what := range map[string]string{
		"guests": "the list of guests", "storages": "the storages of vmhost", "snapshots": "the snapshots of tools", "config": "the configuration of tools",
		"snapshot config": "the snapshot mine of tools",
	} {
		steps, assessment := changed(risk.Change, "nodeName")
		_, err := systemsnapshots.Foresee(t.Context(), &host{fails: call, taken: []pve.Snapshot{{Name: "mine"}}}, "home", both(1), steps, assessment)
		require.EqualError(t, err, what+" cannot be read (connection refused), so it is not known whether snapshots are possible: see that the host answers, then run again")
	}
	steps, assessment := changed(risk.Change, "tags")
	gone := both(1)
	gone[0].VMID = 999
	_, err := systemsnapshots.Foresee(t.Context(), &host{}, "home", gone, steps, assessment)
	require.EqualError(t, err, "tools (VMID 999) is on no host that the token sees, so nothing is known of its snapshots: run up again, with the refresh")
	require.Equal(t, 1, strings.Count(err.Error(), ": "))
}
