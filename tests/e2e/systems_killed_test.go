package e2e_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestE2ESystemsAfterAKill kills a run while it creates the container of the sample: the host ends the creation alone, the next run waits for
// it and adopts what is there, and a preview is empty. Without the container in the inventory, the run deletes it.
func TestE2ESystemsAfterAKill(t *testing.T) {
	t.Parallel()
	extended(t)
	for _, victim := range victims {
		t.Run(victim.name, func(t *testing.T) {
			t.Parallel()
			r := newSystemsRehearsal(t, "e2e-systems-killed-"+strings.ReplaceAll(victim.name, " ", "-"))
			r.mustRun(0, "lab", "start")
			r.killAt(victim, answered("POST", "/nodes/vmhost/lxc", 1), "up", "--lab", "--yes")

			r.mustRun(0, "up", "--lab", "--yes")
			r.hasNothingToDo()
			require.Regexp(t, `(?m)^pihole +vmhost +CT 211 running$`, r.mustRun(0, "status", "--lab"))
			require.Equal(t, "local-lvm:vm-211-disk-0,size=8G", r.guestSetting("lxc/211", "rootfs"))
			r.mustRun(0, "destroy", "--lab", "--yes")
			require.Empty(t, r.guests())
		})
	}
	t.Run("and the container replaces another", func(t *testing.T) {
		t.Parallel()
		r := newSystemsRehearsal(t, "e2e-systems-killed-replaced")
		r.mustRun(0, "up", "--lab", "--yes")
		r.edit("systems.yaml", "vmid: 211", "vmid: 212")
		r.killAt(victims[0], answered("POST", "/nodes/vmhost/lxc", 1), "up", "--lab", "--yes", "--allow-replace", "pihole")
		r.mustRun(0, "up", "--lab", "--yes", "--allow-replace", "pihole")
		r.hasNothingToDo()
		require.Regexp(t, `(?m)^pihole +vmhost +CT 212 running$`, r.mustRun(0, "status", "--lab"))
		require.Equal(t, []string{"debian-13", "pihole", "tools"}, r.guests())
	})
	t.Run("and the container leaves the inventory", func(t *testing.T) {
		t.Parallel()
		r := newSystemsRehearsal(t, "e2e-systems-killed-left")
		r.mustRun(0, "lab", "start")
		r.killAt(victims[0], answered("POST", "/nodes/vmhost/lxc", 1), "up", "--lab", "--yes")
		before, _, found := strings.Cut(r.inventoryText("systems.yaml"), "containers:\n")
		require.True(t, found)
		r.writeInventory("systems.yaml", before)
		r.mustRun(0, "up", "--lab", "--yes", "--allow-delete", "pihole")
		r.hasNothingToDo()
		require.Equal(t, []string{"debian-13", "tools"}, r.guests())
	})
}
