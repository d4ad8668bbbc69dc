package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

func TestFormats(t *testing.T) {
	t.Parallel()

	tests := []struct{ format, value, problem string }{
		{"pve-vmid", "100", ""},
		{"pve-vmid", "0100", "value does not look like a valid VM ID"},
		{"pve-vmid-list", "100,101;102 103", ""},
		{"pve-vmid-list", "", ""},
		{"pve-vmid-list", "100,x", "value does not look like a valid VM ID"},
		{"pve-node", "-a", "value does not look like a valid node name"},
		{"pve-storage-id", "1a", "storage ID '1a' contains illegal characters"},
		{"pve-storage-server", "nas.example", ""},
		{"pve-storage-server", "nas_1", "value does not look like a valid server name or IP address"},
		{"pve-storage-path", "/mnt/tank", ""},
		{"pve-storage-path", "mnt", "value does not look like a valid absolute path"},
		{"pve-storage-vgname", "pve-data", ""},
		{"pve-storage-vgname", "a b", "lvm name 'a b' contains illegal characters"},
		{"pve-storage-portal-dns", "10.0.0.1:3260", ""},
		{"mac-addr", "BC:24:11:00:00:01", ""},
		{"mac-addr", "BD:24:11:00:00:01", "value does not look like a valid unicast MAC address"},
		{"ipv4", "10.0.0.1", ""},
		{"ipv4", "::1", "value does not look like a valid IPv4 address"},
		{"ipv6", "10.0.0.1", "value does not look like a valid IPv6 address"},
		{"ip", "10.0.0", "value does not look like a valid IP address"},
		{"address-list", "10.0.0.1 dns.example", ""},
		{"address-list", "a_b", "value does not look like a valid address: a_b"},
		{"CIDR", "10.0.0.0/7", "value does not look like a valid CIDR network"},
		{"CIDRv4", "fd00::/64", "value does not look like a valid IPv4 CIDR network"},
		{"CIDRv6", "fd00::/64", ""},
		{"CIDRv6", "10.0.0.0/8", "value does not look like a valid IPv6 CIDR network"},
		{"pve-ipv4-config", "dhcp", ""},
		{"pve-ipv4-config", "10.0.0.1/24", ""},
		{"pve-ipv6-config", "auto", ""},
		{"pve-ipv6-config", "1", "value does not look like a valid ipv6 network configuration"},
		{"email-opt", "", ""},
		{"email-opt", "a", "value does not look like a valid email address"},
		{"pve-qm-boot", "order=scsi0;net0", ""},
		{"pve-qm-boot", "cdn", ""},
		{"pve-qm-boot", "order=efidisk0", "format error\norder: invalid format - invalid boot device 'efidisk0'\n"},
		{"pve-qm-hostpci", "mapping=gpu,pcie=1,rombar=on", ""},
		{"pve-qm-hostpci", "0000:01:00.0;02:00", ""},
		{"pve-qm-hostpci", "gpu", "format error\nhost: value does not match the regex pattern"},
		{"pve-vm-cpu-conf", "host,flags=+aes;-pcid,hidden=1", ""},
		{"pve-qm-smbios1", "uuid=x", "format error\nuuid: value does not match the regex pattern"},
		{"pve-startup-order", "order=1,up=10", ""},
		{"pve-startup-order", "soon", "unable to parse startup options"},
		{"pve-tokenid", "a@pve!token", ""},
		{"pve-tokenid", "a@pve", "value 'a@pve' does not look like a valid token ID"},
		{"pve-poolid", "a/b/c", ""},
		{"pve-poolid", "a/b/c/d", "pool name 'a/b/c/d' contains invalid characters"},
		{"storage-pair-list", "1", ""},
		{"no-such-format", "1", "undefined format 'no-such-format'"},
	}

	for _, test := range tests {
		t.Run(test.format+" "+test.value, func(t *testing.T) {
			t.Parallel()

			err := schema.CheckFormat(test.format, test.value)
			if test.problem == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, test.problem)
			}
		})
	}
}

// fields returns the fields of a VM setting in the embedded description.
func fields(t testing.TB, key string) map[string]*schema.Property {
	t.Helper()

	described, err := schema.Load(schema.Release84)
	require.NoError(t, err)

	method, ok := described.Method("POST", "/nodes/{node}/qemu")
	require.True(t, ok)

	p, ok := schema.Lookup(method.Parameters, key)
	require.True(t, ok)

	return p.Fields()
}

func TestPropertyStrings(t *testing.T) {
	t.Parallel()

	tests := []struct{ key, text, normal, problem string }{
		{"net0", "model=virtio,bridge=vmbr0,macaddr=BC:24:11:00:00:01,firewall=no", "virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=0", ""},
		{"net0", "tag=5,virtio=BC:24:11:00:00:01", "virtio=BC:24:11:00:00:01,tag=5", ""},
		{"net0", "e1000", "e1000", ""},
		{"net0", "virtio=BC:24:11:00:00:01,e1000=BC:24:11:00:00:02", "", "key alias 'model' is already defined"},
		{"net0", "bridge=vmbr0", "", "format error\nmodel: property is missing and it is not optional"},
		{"net0", "virtio,bridge=a,bridge=b", "", "duplicate key in comma-separated list property: bridge"},
		{"net0", "virtio,e1000", "", "duplicate key in comma-separated list property: model"},
		{"net0", "virtio,=", "", "missing key in comma-separated list property"},
		{"scsi0", "volume=tank:8,ssd=on,discard=on", "tank:8,discard=on,ssd=1", ""},
		{"scsi0", "tank:8,iops_rd_length=5", "tank:8,iops_rd_max_length=5", ""},
		{"scsi0", "ssd=1", "", "format error\nfile: property is missing and it is not optional"},
		{"scsi0", "tank:8,cache=fast", "", "format error\ncache: value 'fast' does not have a value in the enumeration 'none, writethrough, writeback, unsafe, directsync'"},
		{"agent", "1,fstrim_cloned_disks=1", "1,fstrim_cloned_disks=1", ""},
		{"agent", "type=isa,enabled=0", "0,type=isa", ""},
		{"machine", "q35,viommu=intel", "q35,viommu=intel", ""},
		{"memory", "4096", "4096", ""},
		{"memory", "current=8", "", "format error\ncurrent: value must have a minimum value of 16"},
		{"vga", "std,memory=16", "std,memory=16", ""},
		{"ivshmem", "1,name=a", "", "value without key, but schema does not define a default key"},
	}

	for _, test := range tests {
		t.Run(test.key+" "+test.text, func(t *testing.T) {
			t.Parallel()

			values, err := schema.ParseProperties(fields(t, test.key), test.text)
			if test.problem != "" {
				require.ErrorIs(t, err, schema.ErrProperties)
				require.EqualError(t, err, test.problem)

				return
			}

			require.NoError(t, err)
			require.Equal(t, test.normal, schema.PrintProperties(fields(t, test.key), values))
		})
	}
}

// FuzzPropertyStrings checks that a printed property string parses to the same values.
func FuzzPropertyStrings(f *testing.F) {
	keys := []string{"net0", "scsi0", "agent", "ipconfig0", "hostpci0", "cpu", "boot", "ide2"}
	for i, seed := range []string{
		"virtio=BC:24:11:00:00:01,bridge=vmbr0", "tank:8,size=8G", "1,type=virtio", "ip=dhcp,gw6=fd00::1",
		"mapping=a1,pcie=1", "host,flags=+aes", "order=scsi0;net0", "none,media=cdrom",
	} {
		f.Add(i, seed)
	}

	f.Fuzz(func(t *testing.T, i int, text string) {
		set := fields(t, keys[uint(i)%uint(len(keys))])

		values, err := schema.ParseProperties(set, text)
		if err != nil {
			return
		}

		again, err := schema.ParseProperties(set, schema.PrintProperties(set, values))
		require.NoError(t, err)
		require.Equal(t, values, again)
	})
}

func TestSizes(t *testing.T) {
	t.Parallel()

	for text, bytes := range map[string]uint64{
		"0": 0, "512": 512, "528K": 528 << 10, "4M": 4 << 20, "32G": 32 << 30, "2T": 2 << 40, "1025M": 1025 << 20,
	} {
		got, ok := schema.ParseSize(text)
		require.True(t, ok)
		require.Equal(t, bytes, got)
		require.Equal(t, text, schema.FormatSize(bytes))
	}

	half, ok := schema.ParseSize("1.5G")
	require.True(t, ok)
	require.Equal(t, "1536M", schema.FormatSize(half))

	for _, text := range []string{"", "G", "-1G", "1X", "99999999999999999999T"} {
		_, ok := schema.ParseSize(text)
		require.False(t, ok, text)
	}
}
