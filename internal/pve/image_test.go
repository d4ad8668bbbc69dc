package pve_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/pve"
)

const debianURL = "https://cloud.debian.example/debian-13-generic-amd64-20251117-2299.qcow2"

var debian = pve.ImageTemplate{
	Image: pve.Image{Host: node, Volume: "local:import/debian-13-9100.qcow2", URL: debianURL, Algorithm: "sha512", Checksum: "ab12"},
	VMID:  9100, Name: "debian-13", Storage: "tank",
}

// withImages gives the host a storage for images and templates, and an image that stands in for one on the internet.
func withImages(c *proxmox.Config) {
	c.Hosts[0].Storages = append(c.Hosts[0].Storages, proxmox.Storage{
		Name: "local", Type: storage.Dir, Path: "/var/lib/vz", Content: []string{storage.ISO, storage.Template, storage.Import}, TotalBytes: 64 << 30,
	}, proxmox.Storage{
		Name: "guests", Type: storage.LVMThin, Content: []string{storage.RootDir}, TotalBytes: 64 << 30,
	})
	c.Tokens[0].Role, c.Tokens[0].Privileges = "Administrator", nil
	c.StandIns = func(string) (proxmox.StandIn, bool) {
		return proxmox.StandIn{Bytes: 300 << 20, Virtual: 3 << 30, Checksum: "ab12", Algorithm: "sha512"}, true
	}
}

func TestATemplateIsMadeFromAnImageOnce(t *testing.T) {
	t.Parallel()
	e := newHost(t, withImages)
	made, err := e.connection.EnsureImageTemplate(t.Context(), debian)
	require.NoError(t, err)
	require.True(t, made)
	require.Contains(t, e.server.Volumes(), node+"/tank:base-9100-disk-0")
	require.NotContains(t, e.server.Volumes(), node+"/local:import/debian-13-9100.qcow2", "the template has it")

	made, err = e.connection.EnsureImageTemplate(t.Context(), debian)
	require.NoError(t, err)
	require.False(t, made)

	next := debian
	next.Image.URL = "https://mirror.example/debian-13.qcow2"
	made, err = e.connection.EnsureImageTemplate(t.Context(), next)
	require.NoError(t, err, "another address of the same file")
	require.False(t, made)

	next.Image.Checksum = "cd34"
	_, err = e.connection.EnsureImageTemplate(t.Context(), next)
	require.EqualError(t, err, "VMID 9100 is debian-13 (qemu) on vmhost, which is not the template debian-13 of this image: choose another VMID for the image")

	released, err := e.connection.ReleaseImageTemplate(t.Context(), node, 9100)
	require.NoError(t, err)
	require.Equal(t, pve.TemplateDeleted, released)
	released, err = e.connection.ReleaseImageTemplate(t.Context(), node, 9100)
	require.NoError(t, err)
	require.Equal(t, pve.TemplateGone, released)
	released, err = e.connection.ReleaseImageTemplate(t.Context(), node, templateID)
	require.NoError(t, err)
	require.Equal(t, pve.TemplateForeign, released)
}

func TestAnImageWithAnotherChecksumIsRefused(t *testing.T) {
	t.Parallel()
	e := newHost(t, withImages)
	image := debian.Image
	image.Checksum = "ffff"
	require.EqualError(t, e.connection.EnsureImage(t.Context(), image),
		"vmhost cannot download "+debianURL+" to local:import/debian-13-9100.qcow2 (checksum mismatch: got 'ab12' != expect 'ffff'): mend that, then run up again")
	image.Volume = "local:images/x"
	require.EqualError(t, e.connection.EnsureImage(t.Context(), image),
		`"local:images/x" is no volume of an image: give STORAGE:import/FILE, STORAGE:vztmpl/FILE or STORAGE:iso/FILE`)
}

// TestAFileThatIsThereIsKept: the template of containers is downloaded once, and stays.
func TestAFileThatIsThereIsKept(t *testing.T) {
	t.Parallel()
	e := newHost(t, withImages)
	image := pve.Image{Host: node, Volume: "local:vztmpl/debian.tar.zst", URL: debianURL, Algorithm: "sha512", Checksum: "ab12"}
	require.NoError(t, e.connection.EnsureImage(t.Context(), image))
	require.NoError(t, e.connection.EnsureImage(t.Context(), image))
	image.Checksum = "cd34"
	require.ErrorContains(t, e.connection.EnsureImage(t.Context(), image), "mismatch (got 'ab12' != expect 'cd34'), aborting")
}

// TestACompressedISOIsDecompressedOnce: the checksum is that of the compressed file, so the host cannot compare it with what it has.
func TestACompressedISOIsDecompressedOnce(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"https://images.example/OPNsense-dvd.iso.bz2", "https://images.example/pfSense.iso.gz", "https://images.example/a.ISO.ZST?x=1"} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			e := newHost(t, withImages)
			image := pve.Image{Host: node, Volume: "local:iso/opnsense-ab12.iso", URL: address, Algorithm: "sha512", Checksum: "ab12"}
			require.NoError(t, e.connection.EnsureImage(t.Context(), image))
			require.NoError(t, e.connection.EnsureImage(t.Context(), image))
			require.Equal(t, 1, e.downloads())
			require.Contains(t, e.server.Volumes(), node+"/"+image.Volume)
			plain := image
			plain.URL = "https://images.example/OPNsense-dvd.iso"
			require.ErrorContains(t, e.connection.EnsureImage(t.Context(), plain), "mismatch (got '' != expect 'ab12'), aborting", "it was decompressed")

			image.Volume, image.Checksum = "local:iso/other.iso", "ffff"
			require.ErrorContains(t, e.connection.EnsureImage(t.Context(), image), "checksum mismatch: got 'ab12' != expect 'ffff'")
		})
	}
}

// downloads returns how many downloads were asked for.
func (e *emulated) downloads() (count int) {
	for _, call := range e.server.Calls() {
		if strings.HasSuffix(call.Path, "/download-url") {
			count++
		}
	}
	return count
}

// TestAnISOIsKeptByItsChecksum checks that an ISO is kept by its checksum, as any file that is not compressed.
func TestAnISOIsKeptByItsChecksum(t *testing.T) {
	t.Parallel()
	e := newHost(t, withImages)
	image := pve.Image{Host: node, Volume: "local:iso/truenas-ab12.iso", URL: "https://images.example/TrueNAS.iso", Algorithm: "sha512", Checksum: "ab12"}
	require.NoError(t, e.connection.EnsureImage(t.Context(), image))
	require.NoError(t, e.connection.EnsureImage(t.Context(), image))
	require.Equal(t, 2, e.downloads(), "the host compares the checksum")
	image.Checksum = "cd34"
	require.ErrorContains(t, e.connection.EnsureImage(t.Context(), image), "mismatch (got 'ab12' != expect 'cd34'), aborting")
}

func TestTheRootOfAContainerGrows(t *testing.T) {
	t.Parallel()
	e := newHost(t, withImages)
	require.NoError(t, e.connection.EnsureImage(t.Context(), pve.Image{Host: node, Volume: "local:vztmpl/debian.tar.zst", URL: debianURL, Algorithm: "sha512", Checksum: "ab12"}))
	e.must(http.MethodPost, "/lxc", url.Values{"vmid": {"200"}, "ostemplate": {"local:vztmpl/debian.tar.zst"}, "rootfs": {"guests:4"}})
	guest := pve.Guest{Node: node, Type: pve.TypeContainer, VMID: 200}

	for _, step := range []struct {
		size  int
		grown bool
	}{{4, false}, {8, true}, {8, false}, {1024, true}, {1024, false}, {1025, true}} {
		grown, err := e.connection.GrowRoot(t.Context(), guest, step.size)
		require.NoError(t, err)
		require.Equal(t, step.grown, grown)
	}
	_, err := e.connection.GrowRoot(t.Context(), guest, 2)
	require.EqualError(t, err, "the root of CT 200 on vmhost has 1025 GiB and cannot shrink to 2: set diskGiB back to 1025, or replace the container")
}
