package e2e_test

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/labstack"
)

// changedSchematicReaches gives the image another extension. The engine never changes the ID of the resource in the Image
// Factory, so only the program's computed ID identifies the image (step.go of the engine, UpdateStep): the preview shows the
// new one, template and installer follow, no node is changed, and each is listed with its running image.
func (r *rehearsal) changedSchematicReaches(nodes ...string) {
	r.t.Helper()
	born, seen, since := r.hostFiles(), len(r.calls()), time.Now()
	old := r.status(0)
	r.edit("cluster.yaml", "schematic: {extensions: []", "schematic: {extensions: [siderolabs/iscsi-tools]")

	output := r.mustRun(2, "preview", "--lab")
	require.Contains(r.t, output, "template-vmhost-iso", "the new image is known before it is made")
	for _, node := range nodes {
		require.Regexp(r.t, node+` runs Talos v1\.12\.4 of schematic [0-9a-f]{12}, the inventory's is v1\.12\.5 of [0-9a-f]{12}: `, output)
	}

	output = r.mustRun(0, "up", "--lab", "--yes")
	for _, write := range writes(r.calls()[seen:]) {
		require.NotRegexp(r.t, `/qemu/10[0-9]\b`, write, "no machine notices (F3)\n%s", output)
	}
	require.Empty(r.t, labstack.Outages(r.talosLog(since)), "the installer image is changed without a reboot")
	made := slices.DeleteFunc(r.hostFiles().ISOs, func(volume string) bool { return slices.Contains(born.ISOs, volume) })
	require.Len(r.t, made, 1, "another schematic is another ISO, and the old one stays (F16)")
	template, err := r.host().VirtualMachine(r.t.Context(), 9000)
	require.NoError(r.t, err)
	require.Contains(r.t, template.VirtualMachineConfig.IDEs["ide0"], made[0], "machines that are made from now on boot the new image")

	differences := r.mustRun(2, "drift", "--lab")
	for i, node := range nodes {
		require.Regexp(r.t, node+`\n +PROPERTY +schematic\n +WANTED +[0-9a-f]{64}\n +FOUND +`+old.Machines[i].Node.Schematic+`\n`, differences)
		require.NotContains(r.t, differences, node+"  configuration", "the new installer is applied already")
	}
	r.mustRun(0, "preview", "--lab", "--refresh")
	for _, machine := range r.status(0).Machines {
		require.NotEmpty(r.t, machine.Image.Schematic)
		require.NotEqual(r.t, machine.Node.Schematic, machine.Image.Schematic)
	}
}
