package vmconfig_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

func config(settings ...string) *vmconfig.Config {
	c := vmconfig.New()

	for _, setting := range settings {
		key, value, _ := strings.Cut(setting, ": ")
		c.Set(key, value)
	}

	return c
}

func TestFile(t *testing.T) {
	t.Parallel()

	c := config("name: a", "cores: 2", "description: two\nlines")
	c.SetPending("memory", "4096")
	c.DeletePending("cores")
	require.Equal(t, "#two\n#lines\ncores: 2\nname: a\n\n[PENDING]\ndelete: cores\nmemory: 4096\n", c.File())

	before := c.Digest()
	c.Set("name", "b")
	require.NotEqual(t, before, c.Digest())
}

func TestPending(t *testing.T) {
	t.Parallel()

	c := config("memory: 1024", "name: a", "cores: 2")
	c.SetPending("memory", "1024")
	c.SetPending("name", "b")
	c.DeletePending("cores")
	c.DeletePending("never-there")
	c.CleanupPending()
	require.Equal(t, map[string]string{"name": "b"}, c.Pending)
	require.Equal(t, []string{"cores"}, c.Deleted)

	next := c.WithPending()
	require.Equal(t, map[string]string{"memory": "1024", "name": "b"}, next.Values)
	require.False(t, next.HasPending())
	require.Equal(t, "a", c.Get("name"), "the original stays")

	c.SetPending("cores", "4")
	require.Empty(t, c.Deleted, "what is set again is not deleted")
}

func TestSizesOfTheMachine(t *testing.T) {
	t.Parallel()

	require.Equal(t, 512, config().MemoryMiB())
	require.Equal(t, 2048, config("memory: current=2048").MemoryMiB())
	require.Equal(t, 1, config().CPUs())
	require.Equal(t, 6, config("sockets: 2", "cores: 3").CPUs())
	require.Equal(t, 4, config("sockets: 2", "cores: 3", "vcpus: 4").CPUs())
}

func TestBoot(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		settings []string
		boot     string
	}{
		"nothing":             {nil, " "},
		"disk, CD-ROM, card":  {[]string{"scsi0: a:1", "ide2: none,media=cdrom", "net1: virtio"}, "order=scsi0;ide2;net1"},
		"the buses' order":    {[]string{"virtio0: a:1", "scsi1: a:1", "sata0: a:1"}, "order=scsi1"},
		"the slots' order":    {[]string{"scsi10: a:1", "scsi2: a:1"}, "order=scsi2"},
		"no firmware volumes": {[]string{"efidisk0: a:1", "tpmstate0: a:1"}, " "},
	}

	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.boot, config(test.settings...).DefaultBoot())
		})
	}

	require.Equal(t, []string{"scsi0", "net0"}, config("boot: order=scsi0;net0").BootOrder())
	require.Nil(t, config("boot: cdn").BootOrder())
}

func TestTags(t *testing.T) {
	t.Parallel()

	for tags, normal := range map[string]string{"": "", "b;A,b a": "a;b", "Talos": "talos"} {
		require.Equal(t, normal, vmconfig.UniqueTags(tags))
	}
}

func TestCloudInit(t *testing.T) {
	t.Parallel()

	none, err := config("net0: virtio", "ipconfig0: ip=10.0.0.2/24").CloudInit()
	require.NoError(t, err)
	require.Empty(t, none.Cards, "without a drive nobody reads it")

	c := config("name: a", "ide2: tank:vm-101-cloudinit,media=cdrom", "net0: virtio", "net2: virtio", "ipconfig0: ip=dhcp",
		"ipconfig2: ip=10.0.0.2/24,gw=10.0.0.1", "nameserver: 1.1.1.1 9.9.9.9")
	read, err := c.CloudInit()
	require.NoError(t, err)
	require.Equal(t, "a", read.Hostname)
	require.Len(t, read.Nameservers, 2)
	require.Len(t, read.Cards, 2)
	require.Empty(t, read.Cards[0].Addresses)
	require.Equal(t, "10.0.0.2/24", read.Cards[1].Addresses[0].String())

	c.Set("nameserver", "dns")
	_, err = c.CloudInit()
	require.ErrorContains(t, err, "nameserver: ")

	c.Set("ipconfig0", "ip=10")
	_, err = c.CloudInit()
	require.ErrorContains(t, err, "ipconfig0: format error")
}

func TestDriveKeys(t *testing.T) {
	t.Parallel()

	for key, is := range map[string]bool{
		"ide0": true, "ide4": false, "sata5": true, "sata6": false, "scsi30": true, "scsi31": false, "virtio15": true,
		"virtio16": false, "efidisk0": true, "efidisk1": false, "tpmstate0": true, "unused0": false, "scsihw": false, "scsi01": false,
	} {
		require.Equal(t, is, vmconfig.IsDrive(key), key)
	}

	for key, is := range map[string]bool{"net0": true, "net31": true, "net32": false, "network": false} {
		require.Equal(t, is, vmconfig.IsNetwork(key), key)
	}
}
