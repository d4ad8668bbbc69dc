package lab_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

func TestOtherSystems(t *testing.T) {
	t.Parallel()

	blank, debian := proxmox.Disk{Slot: "scsi0"}, proxmox.Disk{Slot: "scsi0", Origin: "debian-12.qcow2"}
	const talos = "local:iso/talos-v1.12.4-376567988ad370138ad8-amd64.iso"
	tests := map[string]struct {
		machine proxmox.Machine
		other   bool
	}{
		"an image":                          {proxmox.Machine{Disks: []proxmox.Disk{debian}}, true},
		"an image in the boot order":        {proxmox.Machine{Disks: []proxmox.Disk{debian}, BootsFrom: []string{"net0", "scsi0"}}, true},
		"nothing":                           {proxmox.Machine{Disks: []proxmox.Disk{blank}}, false},
		"talos":                             {proxmox.Machine{Disks: []proxmox.Disk{blank}, ISO: talos, ISODrive: "ide0"}, false},
		"an appliance":                      {proxmox.Machine{Disks: []proxmox.Disk{blank}, ISO: "local:iso/opnsense.iso", ISOOrigin: "opnsense.iso", ISODrive: "ide0"}, true},
		"the ISO comes first in the order":  {proxmox.Machine{Disks: []proxmox.Disk{debian}, ISO: talos, ISODrive: "ide0", BootsFrom: []string{"ide0", "scsi0"}}, false},
		"an image on a disk that boots not": {proxmox.Machine{Disks: []proxmox.Disk{debian}, BootsFrom: []string{"scsi1"}}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.other, lab.BootsOtherSystem(test.machine))
		})
	}
}
