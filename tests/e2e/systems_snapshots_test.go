package e2e_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve/role"
)

// snapshotOf is the name of a snapshot that a run takes.
var snapshotOf = regexp.MustCompile(`^em-infra-\d{8}-\d{6}$`)

// TestE2ESystemsSnapshots takes snapshots of systems before changes, keeps as many as the inventory says, leaves those of others alone, and
// refuses to change a system of which none can be taken.
func TestE2ESystemsSnapshots(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newSystemsRehearsal(t, "e2e-systems-snapshots")
	r.edit("systems.yaml", "images:\n", "snapshots: {keep: 2}\nimages:\n")
	r.edit("systems.yaml", "    tags: [dns]", "    tags: [dns]\n    diskStorage: local\n    snapshots: {keep: 0}")

	r.mustRun(0, "up", "--lab", "--yes")
	require.Empty(t, r.snapshotsOf("qemu/210"), "a new system needs none")

	r.snapshotsBeforeChanges()
	r.snapshotsThatCannotBeTaken()
	r.changeThatFailsAfterASnapshot()

	r.mustRun(0, "destroy", "--lab", "--yes")
	require.Empty(t, r.guests())
	require.Empty(t, r.volumes("local-lvm"), "the snapshots went with the machine")
}

// snapshotsBeforeChanges changes the memory again and again.
func (r *rehearsal) snapshotsBeforeChanges() {
	r.t.Helper()
	require.NoError(r.t, r.api().Post(r.t.Context(), "/nodes/vmhost/qemu/210/snapshot", map[string]any{"snapname": "mine"}, nil))
	r.eventually("the snapshot by hand is there", func() bool { return len(r.snapshotsOf("qemu/210")) == 1 })

	r.edit("systems.yaml", "memoryMiB: 2048", "memoryMiB: 3072")
	r.edit("systems.yaml", "memoryMiB: 512", "memoryMiB: 640")
	preview := r.mustRun(2, "preview", "--lab")
	require.Regexp(r.t, `(?m)^ REBOOT   tools   memory 2048 → 3072 MiB\n +it is away while it reboots, about 1 min\n +a snapshot is taken first, and the newest 2 stay when the run has succeeded$`, preview)
	require.Regexp(r.t, `(?m)^ REBOOT   pihole  memory 512 → 640 MiB\n +it is away while it reboots, about 1 min$`, preview)
	require.Len(r.t, r.snapshotsOf("qemu/210"), 1, "a preview takes none")
	first := r.changeWithSnapshot()
	require.Equal(r.t, []string{"mine", first}, r.snapshotsOf("qemu/210"))
	require.Empty(r.t, r.snapshotsOf("lxc/211"), "its inventory says so")
	require.Equal(r.t, "3072", r.guestSetting("qemu/210", "memory"))
	r.hasNothingToDo()
	r.mustRun(0, "drift", "--lab")
	r.mustRun(0, "status", "--lab")

	r.edit("systems.yaml", "memoryMiB: 3072", "memoryMiB: 2048\n    tags: [a]")
	second := r.changeWithSnapshot()
	require.Equal(r.t, []string{"mine", first, second}, r.snapshotsOf("qemu/210"))
	r.edit("systems.yaml", "tags: [a]", "tags: [b]")
	third := r.changeWithSnapshot()
	require.Equal(r.t, []string{"mine", second, third}, r.snapshotsOf("qemu/210"), "the newest two of em-infra, and that of another")
}

// changeWithSnapshot brings the stack up and returns the name of the snapshot of the machine that the run reports.
func (r *rehearsal) changeWithSnapshot() string {
	r.t.Helper()
	output := r.mustRun(0, "up", "--lab", "--yes")
	taken := regexp.MustCompile("snapshot (em-infra-[0-9-]+) of tools is taken; `qm rollback 210 (em-infra-[0-9-]+)` on vmhost").FindStringSubmatch(strings.Join(strings.Fields(output), " "))
	require.NotNil(r.t, taken, output)
	require.Equal(r.t, taken[1], taken[2])
	require.Regexp(r.t, snapshotOf, taken[1])
	return taken[1]
}

// snapshotsThatCannotBeTaken: without the privilege, on a storage that has none, and while the machine is locked, nothing is changed.
func (r *rehearsal) snapshotsThatCannotBeTaken() {
	r.t.Helper()
	r.edit("systems.yaml", "tags: [b]", "tags: [c]")
	r.edit("systems.yaml", "snapshots: {keep: 0}", "snapshots: {keep: 1}")
	seen := len(r.calls())
	require.Contains(r.t, r.mustRun(3, "up", "--lab", "--yes"), "a storage of pihole (CT 211 on vmhost) cannot take snapshots")
	require.Empty(r.t, writes(r.calls()[seen:]))
	r.edit("systems.yaml", "snapshots: {keep: 1}", "snapshots: {keep: 0}")

	var of map[string]int
	require.NoError(r.t, r.asRoot().Get(r.t.Context(), "/access/roles/"+role.Name, &of))
	var privileges []string
	for name := range of {
		privileges = append(privileges, name)
	}
	slices.Sort(privileges)
	give := func(names []string) {
		require.NoError(r.t, r.asRoot().Put(r.t.Context(), "/access/roles/"+role.Name, map[string]any{"privs": strings.Join(names, ",")}, nil))
	}
	give(slices.DeleteFunc(slices.Clone(privileges), func(name string) bool { return name == "VM.Snapshot" }))
	seen = len(r.calls())
	refused := strings.Join(strings.Fields(r.mustRun(3, "up", "--lab", "--yes")), " ")
	require.Contains(r.t, refused, "lacks VM.Snapshot on /vms/210, without which no snapshot is taken before a change")
	require.Contains(r.t, refused, "`pveum role modify EmInfraOperator --append 1 --privs \"VM.Snapshot\"`")
	require.Empty(r.t, writes(r.calls()[seen:]))
	give(privileges)

	before := r.snapshotsOf("qemu/210")
	require.NoError(r.t, r.asRoot().Put(r.t.Context(), "/nodes/vmhost/qemu/210/config", map[string]any{"lock": "backup"}, nil))
	failed := strings.Join(strings.Fields(r.mustRun(1, "up", "--lab", "--yes")), " ")
	require.Contains(r.t, failed, "VM 210 on vmhost cannot be taken: VM is locked (backup): wait for the end of its task ("+
		"`pvesh get /nodes/vmhost/tasks --source active`), or if there is none, run `em-infra lab unlock 210 --stack e2e-systems-snapshots --inventory "+r.inventory+"`, then run up again; no system was changed")
	r.mustRun(0, "lab", "unlock", "210")
	require.Equal(r.t, before, r.snapshotsOf("qemu/210"))
	require.NotContains(r.t, r.guestSetting("qemu/210", "tags"), "c")
}

// changeThatFailsAfterASnapshot: at its end, the run reports how to go back, and the snapshot stays until a later change has succeeded, also with
// keep: 1.
func (r *rehearsal) changeThatFailsAfterASnapshot() {
	r.t.Helper()
	r.edit("systems.yaml", "snapshots: {keep: 2}", "snapshots: {keep: 1}")
	before := r.snapshotsOf("qemu/210")
	r.mustRun(0, "lab", "fault", "set", "config-lock-timeout")
	var taken []string
	for _, says := range []string{"of tools is taken", "is from before the change of tools that has not succeeded, so no other is taken"} {
		failed := strings.Join(strings.Fields(r.mustRun(1, "up", "--lab", "--yes")), " ")
		taken = r.snapshotsOf("qemu/210")
		require.Len(r.t, taken, len(before)+1)
		require.Equal(r.t, before, taken[:len(before)], "a run that fails removes none")
		require.Contains(r.t, failed, "snapshot "+taken[len(before)]+" "+says)
		require.Contains(r.t, failed, "or go back to how a system was before this run, without what was written on its disks since, "+
			"and put systems.yaml back: tools: `qm rollback 210 "+taken[len(before)]+"` on vmhost")
	}
	require.Contains(r.t, strings.Join(strings.Fields(r.mustRun(2, "preview", "--lab")), " "), "no snapshot is taken: "+taken[len(before)]+" is from before the change that has not succeeded")

	r.mustRun(0, "lab", "fault", "clear")
	r.mustRun(0, "up", "--lab", "--yes")
	require.Contains(r.t, r.guestSetting("qemu/210", "tags"), "c")
	require.Equal(r.t, []string{"mine", taken[len(before)]}, r.snapshotsOf("qemu/210"))
	r.hasNothingToDo()

	r.edit("systems.yaml", "tags: [c]", "tags: [d]")
	next := r.changeWithSnapshot()
	require.Equal(r.t, []string{"mine", next}, r.snapshotsOf("qemu/210"))
}

// snapshotsOf returns the names of a guest's snapshots, the oldest first.
func (r *rehearsal) snapshotsOf(guest string) []string {
	r.t.Helper()
	var all []struct {
		Name string
		Time int64 `json:"snaptime"`
	}
	require.NoError(r.t, r.api().Get(r.t.Context(), "/nodes/vmhost/"+guest+"/snapshot", &all))
	slices.SortFunc(all, func(a, b struct {
		Name string
		Time int64 `json:"snaptime"`
	}) int {
		return int(a.Time - b.Time)
	})
	var names []string
	for _, one := range all {
		if one.Name != "current" {
			names = append(names, one.Name)
		}
	}
	return names
}
