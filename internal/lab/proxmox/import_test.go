package proxmox_test

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
)

// qcow2 returns the header of a disk image of a size; backing is the offset of the name of another file that it refers to.
func qcow2(bytes, backing uint64) []byte {
	header := make([]byte, 512)
	copy(header, "QFI\xfb")
	binary.BigEndian.PutUint32(header[4:], 3)
	binary.BigEndian.PutUint64(header[8:], backing)
	binary.BigEndian.PutUint64(header[24:], bytes)

	return header
}

// newImportLab starts a lab whose folder holds disk images and templates, and a server with images.
func newImportLab(t *testing.T) (l *lab, base string) {
	t.Helper()

	files := map[string][]byte{
		"/debian.qcow2": qcow2(2<<30, 0), "/linked.qcow2": qcow2(2<<30, 104), "/no.qcow2": []byte("no image"), "/disk.raw": make([]byte, 4096),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := w.Write(files[r.URL.Path]); err != nil {
			t.Errorf("serve %s: %s", r.URL.Path, err)
		}
	}))
	t.Cleanup(server.Close)

	l = newLab(t, func(c *proxmox.Config) {
		c.Hosts[0].Storages[0].Content = []string{storage.ISO, storage.Template, storage.Import}
		c.StandIns = func(url string) (proxmox.StandIn, bool) {
			return proxmox.StandIn{Bytes: 300 << 20, Virtual: 3 << 30, Checksum: "AB12", Algorithm: "sha512"}, url == "https://images.example/dated.qcow2"
		}
	})

	return l, server.URL
}

const downloads = "/nodes/vmhost/storage/local/download-url"

func TestDownloadsOfDiskImages(t *testing.T) {
	t.Parallel()

	l, base := newImportLab(t)
	tests := map[string]struct{ params, want string }{
		"an image":            {"content=import filename=debian.qcow2 url=" + base + "/debian.qcow2", "OK"},
		"a raw one":           {"content=import filename=disk.raw url=" + base + "/disk.raw", "OK"},
		"a stand-in":          {"content=import filename=dated.qcow2 url=https://images.example/dated.qcow2 checksum=ab12 checksum-algorithm=sha512", "OK"},
		"another checksum":    {"content=import filename=d.qcow2 url=https://images.example/dated.qcow2 checksum=ff checksum-algorithm=sha512", "checksum mismatch: got 'ab12' != expect 'ff'"},
		"compressed":          {"content=import filename=a.qcow2 compression=zst url=" + base + "/debian.qcow2", "decompression not supported for import"},
		"no image":            {"content=import filename=b.qcow2 url=" + base + "/no.qcow2", "failed to query file information with qemu-img"},
		"with a backing file": {"content=import filename=c.qcow2 url=" + base + "/linked.qcow2", "backing file not allowed for untrusted image '/var/lib/vz/import/c.qcow2'!"},
		"a template":          {"content=vztmpl filename=debian.tar.zst url=" + base + "/disk.raw", "OK"},
	}

	for name, test := range tests {
		require.Equal(t, test.want, l.task(http.MethodPost, downloads, values(test.params)), name)
	}

	for params, want := range map[string]string{
		"content=import filename=debian.img":    "invalid filename or wrong extension",
		"content=vztmpl filename=debian.qcow2":  "wrong file extension",
		"content=iso filename=debian.qcow2":     "wrong file extension",
		"content=import filename=debian.tar.gz": "invalid filename or wrong extension",
	} {
		require.Equal(t, map[string]string{"filename": want}, l.do(http.MethodPost, downloads, values(params+" url=https://x.example/")).Errors)
	}

	require.Equal(t, "images of format 'ova' are not emulated",
		trimmed(l.do(http.MethodPost, downloads, values("content=import filename=a.ova url=https://x.example/")).Message))

	type entry struct {
		VolID, Content, Format string
		Size                   uint64
	}

	var list []entry

	l.ok(http.MethodGet, "/nodes/vmhost/storage/local/content", nil, &list)
	require.Equal(t, []entry{
		{"local:import/dated.qcow2", "import", "qcow2", 300 << 20},
		{"local:import/debian.qcow2", "import", "qcow2", 512},
		{"local:import/disk.raw", "import", "raw", 4096},
		{"local:vztmpl/debian.tar.zst", "vztmpl", "tzst", 4096},
	}, list, "a list has the lengths of files")

	var info struct {
		Path string
		Size uint64
	}

	l.ok(http.MethodGet, "/nodes/vmhost/storage/local/content/"+url.PathEscape("local:import/debian.qcow2"), nil, &info)
	require.Equal(t, "/var/lib/vz/import/debian.qcow2", info.Path)
	require.Equal(t, uint64(2<<30), info.Size, "of an image the size of its disk")
}

// TestACompressedISO checks that a stored ISO matches its own checksum only, which is not that of the compressed file.
func TestACompressedISO(t *testing.T) {
	t.Parallel()

	l, _ := newImportLab(t)
	params := values("content=iso filename=a.iso compression=bz2 url=https://images.example/dated.qcow2 checksum=ab12 checksum-algorithm=sha512")
	require.Equal(t, "OK", l.task(http.MethodPost, downloads, params))
	require.Equal(t, "mismatch (got '' != expect 'ab12'), aborting", l.task(http.MethodPost, downloads, params))
}

func TestImport(t *testing.T) {
	t.Parallel()

	l, base := newImportLab(t)
	l.must(http.MethodPost, downloads, values("content=import filename=debian.qcow2 url="+base+"/debian.qcow2"))
	l.must(http.MethodPost, downloads, values("content=iso filename=a.iso url="+base+"/disk.raw"))

	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=9100 template=1 scsi0=tank:0,import-from=local:import/debian.qcow2,ssd=1"))
	require.Equal(t, "tank:base-9100-disk-0,size=2G,ssd=1", l.config("9100")["scsi0"], "the disk of a template is a base volume")

	l.must(http.MethodPost, "/nodes/vmhost/qemu/9100/clone", values("newid=101 full=1 name=debian"))
	require.Equal(t, "tank:vm-101-disk-0,size=2G,ssd=1", l.config("101")["scsi0"])

	create := "/nodes/vmhost/qemu"
	for params, want := range map[string]string{
		"vmid=102 scsi0=tank:8,import-from=local:import/debian.qcow2": "'import-from' requires special syntax - use <storage ID>:0,import-from=<source>",
		"vmid=102 scsi0=tank:0,import-from=local:iso/a.iso":           "local:iso/a.iso has wrong type 'iso' - needs to be 'images' or 'import'",
		"vmid=102 efidisk0=tank:0,import-from=local:import/d.raw":     "need to specify 'efitype' when using 'import-from'",
		"vmid=102 tpmstate0=tank:0,import-from=local:import/d.raw":    "need to specify 'version' when using 'import-from'",
	} {
		errors := l.do(http.MethodPost, create, values(params)).Errors
		require.Len(t, errors, 1, params)

		for _, got := range errors {
			require.Equal(t, want, got)
		}
	}

	require.Equal(t, "Only root can pass arbitrary filesystem paths.",
		trimmed(l.do(http.MethodPost, create, values("vmid=102 scsi0=tank:0,import-from=/tmp/x.qcow2")).Message))
	require.Equal(t, "unable to create VM 102 - failed to stat '/var/lib/vz/import/gone.qcow2'",
		l.task(http.MethodPost, create, values("vmid=102 scsi0=tank:0,import-from=local:import/gone.qcow2")))
	require.Equal(t, []int{101, 9100}, l.vmids())
	require.NotContains(t, l.server.Volumes(), "vmhost/tank:vm-102-disk-0")
}

// TestAnApplianceIsInstalledFromItsISO: its first disk has the system of the ISO from its first start on, so it boots without the ISO, too.
func TestAnApplianceIsInstalledFromItsISO(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct{ url, drives, want string }{
		"an ISO that stands in for another": {"https://images.example/opnsense.iso", "scsi0=tank:8 scsi1=tank:8 ide0=local:iso/a.iso,media=cdrom boot=order=scsi0;ide0", "opnsense.iso"},
		"without an order":                  {"https://images.example/opnsense.iso", "scsi0=tank:8 ide0=local:iso/a.iso,media=cdrom", "opnsense.iso"},
		"an ISO that is not booted":         {"https://images.example/opnsense.iso", "scsi0=tank:8 ide0=local:iso/a.iso,media=cdrom boot=order=scsi0", ""},
		"an empty drive":                    {"https://images.example/opnsense.iso", "scsi0=tank:8 ide0=none,media=cdrom boot=order=scsi0;ide0", ""},
		"Talos, which installs itself":      {"", "scsi0=tank:8 ide0=local:iso/a.iso,media=cdrom boot=order=scsi0;ide0", ""},
		"no disk":                           {"https://images.example/opnsense.iso", "ide0=local:iso/a.iso,media=cdrom boot=order=ide0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			m := &machines{}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "talos") }))
			t.Cleanup(server.Close)
			l := newLab(t, func(c *proxmox.Config) {
				c.Machines = m
				c.StandIns = func(url string) (proxmox.StandIn, bool) {
					return proxmox.StandIn{Bytes: 300 << 20}, url == test.url
				}
			})
			l.must(http.MethodPost, downloads, values("content=iso filename=a.iso url="+cmp.Or(test.url, server.URL+"/talos.iso")))
			l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 "+test.drives))

			for _, want := range []string{"", test.want} {
				l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", nil)

				for i, disk := range m.machine(101).Disks {
					require.Equal(t, map[bool]string{true: want}[i == 0], disk.Origin, disk.Slot)
				}

				l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/stop", nil)
			}
		})
	}
}
