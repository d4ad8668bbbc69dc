package e2e_test

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/labstack"
)

// changedSchematicReaches gives the image another extension. The engine never changes the ID of the resource in the Image
// Factory, so only the program's computed ID identifies the image (step.go of the engine, UpdateStep): the preview shows the
// new one, template and installer follow, and each node is upgraded to it, without a change of its machine.
func (r *rehearsal) changedSchematicReaches(nodes ...string) {
	r.t.Helper()
	born, seen, since := r.hostFiles(), len(r.calls()), time.Now()
	r.edit("cluster.yaml", "schematic: {extensions: []", "schematic: {extensions: [siderolabs/iscsi-tools]")

	output := r.mustRun(2, "preview", "--lab")
	require.Contains(r.t, output, "template-vmhost-iso", "the new image is known before it is made")
	for _, node := range nodes {
		require.Regexp(r.t, `UPGRADE  `+node+` +Talos v1\.12\.5, schematic [0-9a-f]{12} → [0-9a-f]{12} \(drain, reboot, about 3 min\)`, output)
	}

	output = r.mustRun(0, "up", "--lab", "--yes")
	for _, write := range writes(r.calls()[seen:]) {
		require.NotRegexp(r.t, `/qemu/10[0-9]\b`, write, "no machine notices (F3)\n%s", output)
	}
	require.Len(r.t, labstack.Outages(r.talosLog(since)), len(nodes), "each node reboots once")
	made := slices.DeleteFunc(r.hostFiles().ISOs, func(volume string) bool { return slices.Contains(born.ISOs, volume) })
	require.Len(r.t, made, 1, "another schematic is another ISO, and the old one stays (F16)")
	template, err := r.host().VirtualMachine(r.t.Context(), 9000)
	require.NoError(r.t, err)
	require.Contains(r.t, template.VirtualMachineConfig.IDEs["ide0"], made[0], "machines that are made from now on boot the new image")

	r.mustRun(0, "drift", "--lab")
	r.mustRun(0, "preview", "--lab", "--refresh")
	for _, machine := range r.status(0).Machines {
		require.NotEmpty(r.t, machine.Image.Schematic)
		require.Equal(r.t, machine.Image.Schematic, machine.Node.Schematic)
	}
}
