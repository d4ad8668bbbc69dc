package e2e_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestE2EAMachineOnAStorageOfFiles: a machine from a .qcow2 image keeps that format on a storage of files, where its host imports it as it is, and
// then there is nothing to do, and a change of it is made once.
func TestE2EAMachineOnAStorageOfFiles(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newSystemsRehearsal(t, "e2e-files")
	r.writeInventory("systems.yaml", `apiVersion: em-infra/v1alpha1
kind: Systems
name: site-systems
proxmox: {host: vmhost, diskStorage: local}
network: {gateway: 192.168.20.1, nameservers: [192.168.20.1]}
sshKeys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH operator"]
images:
  - {name: debian, url: "https://images.example/debian.qcow2", checksum: "sha256:`+strings.Repeat("ab", 32)+`", vmid: 9100}
virtualMachines:
  - {name: tools, vmid: 210, image: debian, memoryMiB: 1024, networks: [{address: 192.168.20.30/24}], dataDisks: [{sizeGiB: 16}]}
`)

	r.mustRun(0, "lab", "start")
	r.mustRun(0, "up", "--lab", "--yes")
	require.Contains(t, r.guestSetting("qemu/210", "scsi0"), "local:210/vm-210-disk-0.qcow2,")
	require.Contains(t, r.guestSetting("qemu/210", "scsi1"), "local:210/vm-210-disk-0.raw,")
	r.hasNothingToDo()

	r.edit("systems.yaml", "memoryMiB: 1024", "memoryMiB: 2048")
	require.Regexp(t, `(?m)^ REBOOT +tools +memory 1024 → 2048 MiB$`, r.mustRun(2, "preview", "--lab"))
	r.mustRun(0, "up", "--lab", "--yes")
	r.hasNothingToDo()
	r.mustRun(0, "destroy", "--lab", "--yes")
}
