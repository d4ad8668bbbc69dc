package proxmox_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

const imageText = "not really an ISO"

// images serves a file like the Image Factory.
func images(t *testing.T) string {
	t.Helper()

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/nocloud-amd64.iso" {
			http.NotFound(w, r)
			return
		}

		w.Header().Set("Content-Type", "application/octet-stream; charset=binary")
		w.Header().Set("Content-Disposition", `attachment; filename="talos.iso"`)
		w.Header().Set("Content-Length", strconv.Itoa(len(imageText)))

		if r.Method == http.MethodGet {
			if _, err := w.Write([]byte(imageText)); err != nil {
				t.Errorf("serve the image: %s", err)
			}
		}
	}))
	t.Cleanup(server.Close)

	return server.URL
}

func TestDownloads(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	base := images(t)
	image := url.Values{"url": {base + "/nocloud-amd64.iso"}}

	var metadata map[string]any

	l.ok(http.MethodGet, "/nodes/vmhost/query-url-metadata", image, &metadata)
	require.Equal(t, map[string]any{
		"filename": "talos.iso", "size": float64(len(imageText)), "mimetype": "application/octet-stream",
	}, metadata)
	require.Equal(t, "500 invalid server response: '404 Not Found'",
		l.do(http.MethodGet, "/nodes/vmhost/query-url-metadata", url.Values{"url": {base + "/other"}}).Status)

	sum := sha256.Sum256([]byte(imageText))
	image.Set("content", "iso")
	image.Set("filename", "talos v1.iso")
	image.Set("checksum-algorithm", "sha256")
	image.Set("checksum", strings.ToUpper(hex.EncodeToString(sum[:])))

	const path = "/nodes/vmhost/storage/local/download-url"

	var upid string

	l.ok(http.MethodPost, path, image, &upid)

	task := l.wait(upid)
	require.Equal(t, "OK", task.ExitStatus)
	require.Equal(t, "talos_v1.iso", task.ID, "file names are made safe")

	var content []map[string]any

	l.ok(http.MethodGet, "/nodes/vmhost/storage/local/content", nil, &content)
	require.Len(t, content, 1)
	delete(content[0], "ctime")
	require.Equal(t, map[string]any{
		"volid": "local:iso/talos_v1.iso", "content": "iso", "format": "iso", "size": float64(len(imageText)),
		"used": float64(len(imageText)),
	}, content[0])

	var info map[string]any

	l.ok(http.MethodGet, "/nodes/vmhost/storage/local/content/"+url.PathEscape("local:iso/talos_v1.iso"), nil, &info)
	require.Equal(t, "/var/lib/vz/template/iso/talos_v1.iso", info["path"])

	require.Equal(t, "OK", l.task(http.MethodPost, path, image), "a file with the checksum is kept")

	image.Set("checksum", "00")
	require.Equal(t, "mismatch (got '"+hex.EncodeToString(sum[:])+"' != expect '00'), aborting",
		l.task(http.MethodPost, path, image))

	without := url.Values{"url": image["url"], "content": {"iso"}, "filename": {"talos v1.iso"}}
	require.Equal(t, "refusing to override existing file '/var/lib/vz/template/iso/talos_v1.iso'",
		l.task(http.MethodPost, path, without))

	image.Set("filename", "other.iso")
	image.Set("checksum", "00")
	require.Equal(t, "checksum mismatch: got '"+hex.EncodeToString(sum[:])+"' != expect '00'", l.task(http.MethodPost, path, image))

	missing := url.Values{"content": {"iso"}, "filename": {"a.iso"}, "url": {base + "/other"}}
	require.Equal(t, "download failed: exit code 8", l.task(http.MethodPost, path, missing))

	l.must(http.MethodDelete, "/nodes/vmhost/storage/local/content/"+url.PathEscape("local:iso/talos_v1.iso"), nil)
	l.must(http.MethodDelete, "/nodes/vmhost/storage/local/content/"+url.PathEscape("local:iso/talos_v1.iso"), nil)
	require.Empty(t, l.server.Volumes())
}

func TestRefusedFiles(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	tests := map[string]struct{ storage, params, status string }{
		"no file-based storage": {
			"tank", "content=iso filename=a.iso", "500 can't upload to storage type 'zfspool', not a file based storage!",
		},
		"no such storage": {"nowhere", "content=iso filename=a.iso", "500 storage 'nowhere' does not exist"},
		"no such content": {
			"local", "content=vztmpl filename=a.tar.gz", "500 storage 'local' is not configured for content-type 'vztmpl'",
		},
		"another extension": {"local", "content=iso filename=a.qcow2", "400 Parameter verification failed."},
	}

	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			r := l.do(http.MethodPost, "/nodes/vmhost/storage/"+test.storage+"/download-url",
				values(test.params+" url=http://127.0.0.1:1/"))
			require.Equal(t, test.status, r.Status)
		})
	}

	require.Equal(t, "500 unable to parse directory volume name 'nothing'",
		l.do(http.MethodDelete, "/nodes/vmhost/storage/local/content/nothing", nil).Status)
	require.Equal(t, map[string]string{"volume": "storage ID mismatch (tank != local)\n"},
		l.do(http.MethodGet, "/nodes/vmhost/storage/local/content/tank:x", nil).Errors)
}

func TestUpload(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	body := "--b\r\nContent-Disposition: form-data; name=\"content\"\r\n\r\niso\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"filename\"; filename=\"a.iso\"\r\n\r\n" + imageText + "\r\n--b--\r\n"

	request, err := http.NewRequest(http.MethodPost, l.base+"/api2/json/nodes/vmhost/storage/local/upload", strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Authorization", "PVEAPIToken="+l.token)
	request.Header.Set("Content-Type", "multipart/form-data; boundary=b")

	response, err := l.http.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, "200 OK", response.Status)
	polltest.Until(t, func() bool {
		return slices.Contains(l.server.Volumes(), "vmhost/local:iso/a.iso")
	})
}

// TestRoom checks the usage of different kinds of storages.
func TestRoom(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	used := func(name string) uint64 {
		var s struct{ Used, Total, Avail uint64 }

		l.ok(http.MethodGet, "/nodes/vmhost/storage/"+name+"/status", nil, &s)
		require.Equal(t, s.Total, s.Used+s.Avail)

		return s.Used
	}

	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 scsi0=tank:64 scsi1=thin:64 scsi2=file=nas:64,format=qcow2"))
	require.Equal(t, uint64(64<<30), used("tank"), "a zvol reserves its size")
	require.Zero(t, used("thin"))
	require.Zero(t, used("nas"))
	require.Equal(t, "nas:101/vm-101-disk-0.qcow2,size=64G", l.config("101")["scsi2"])

	require.Equal(t, "unable to create VM 102 - zfs error: cannot create 'tank/vm-102-disk-0': out of space",
		l.task(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=102 scsi1=thin:1 scsi0=tank:450")))
	require.Equal(t, []int{101}, l.vmids())
	require.NotContains(t, strings.Join(l.server.Volumes(), " "), "vm-102", "what was made before is freed")
}

// TestLinkedClones checks that linked clones use no space and protect their template.
func TestLinkedClones(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.template()
	l.must(http.MethodPost, "/nodes/vmhost/qemu/9000/clone", values("newid=101 full=0"))
	require.Equal(t, "tank:base-9000-disk-0/vm-101-disk-0,iothread=1,size=8G", l.config("101")["scsi0"])
	require.Equal(t, "base volume 'tank:base-9000-disk-0' is still in use by linked cloned",
		l.task(http.MethodDelete, "/nodes/vmhost/qemu/9000", nil))
	l.must(http.MethodDelete, "/nodes/vmhost/qemu/101", nil)
	l.must(http.MethodDelete, "/nodes/vmhost/qemu/9000", nil)
	require.Empty(t, l.server.Volumes())
}

// TestMovingDisks checks moves between storages, and that the source stays unless delete is set.
func TestMovingDisks(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 scsi0=tank:4"))
	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/move_disk", values("disk=scsi0 storage=thin"))
	require.Equal(t, "thin:vm-101-disk-0,size=4G", l.config("101")["scsi0"])
	require.Equal(t, "tank:vm-101-disk-0", l.config("101")["unused0"])
	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/move_disk", values("disk=scsi0 storage=nas format=qcow2 delete=1"))
	require.Equal(t, []string{"nas:101/vm-101-disk-0.qcow2", "vmhost/tank:vm-101-disk-0"}, l.server.Volumes())
	l.must(http.MethodDelete, "/nodes/vmhost/qemu/101", values("destroy-unreferenced-disks=1"))
	require.Empty(t, l.server.Volumes())
}

// TestMigration checks what prevents the migration of a VM, and what allows it.
func TestMigration(t *testing.T) {
	t.Parallel()

	l := newLab(t, func(c *proxmox.Config) {
		c.Hosts[1].Storages = append(c.Hosts[1].Storages, proxmox.Storage{
			Name: "thin", Type: storage.LVMThin, Content: []string{storage.Images}, TotalBytes: 64 << 30,
		})
	})
	base := images(t)

	l.must(http.MethodPost, "/nodes/vmhost/storage/local/download-url",
		url.Values{"content": {"iso"}, "filename": {"a.iso"}, "url": {base + "/nocloud-amd64.iso"}})
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 scsi0=nas:1 ide3=local:iso/a.iso,media=cdrom"))
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=102 scsi0=thin:1 net0=virtio,bridge=vmbr0"))
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=103 scsi0=tank:1 start=1"))

	migrate := func(vmid, params string) string {
		return l.task(http.MethodPost, "/nodes/vmhost/qemu/"+vmid+"/migrate", values(params))
	}

	require.Equal(t, "migration aborted (duration 00:00:01): Problem found while scanning volumes - can't migrate VM - check log",
		migrate("101", "target=vmhost2"))
	require.Equal(t, "500 can't migrate running VM without --online",
		l.do(http.MethodPost, "/nodes/vmhost/qemu/103/migrate", values("target=vmhost2")).Status)
	require.Equal(t, "500 storage 'tank' is not available on node 'vmhost2'",
		l.do(http.MethodPost, "/nodes/vmhost/qemu/103/migrate", values("target=vmhost2 online=1")).Status)
	require.Equal(t, "OK", migrate("103", "target=vmhost2 online=1 with-local-disks=1 targetstorage=thin"))
	require.Equal(t, "OK", migrate("102", "target=vmhost2 with-local-disks=1"))

	require.Equal(t, "500 Configuration file 'nodes/vmhost/qemu-server/102.conf' does not exist",
		l.do(http.MethodGet, "/nodes/vmhost/qemu/102/config", nil).Status)
	l.ok(http.MethodGet, "/nodes/vmhost2/qemu/102/config", nil, nil)
	require.Contains(t, l.server.Volumes(), "vmhost2/thin:vm-102-disk-0")
	require.Contains(t, l.server.Volumes(), "vmhost2/thin:vm-103-disk-0")
	require.NotContains(t, l.server.Volumes(), "vmhost/tank:vm-103-disk-0")
}

// TestMigrationWithAnISOInASnapshot checks that an ISO that was ejected still prevents the migration while a snapshot has it.
func TestMigrationWithAnISOInASnapshot(t *testing.T) {
	t.Parallel()

	l := administrator(t)
	base := images(t)
	l.must(http.MethodPost, "/nodes/vmhost/storage/local/download-url",
		url.Values{"content": {"iso"}, "filename": {"a.iso"}, "url": {base + "/nocloud-amd64.iso"}})
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 scsi0=nas:1,format=qcow2 ide0=local:iso/a.iso,media=cdrom"))
	l.must(http.MethodPost, snapshots, values("snapname=installed"))
	l.ok(http.MethodPut, "/nodes/vmhost/qemu/101/config", values("ide0=none,media=cdrom"), nil)

	require.Equal(t, "migration aborted (duration 00:00:01): Problem found while scanning volumes - can't migrate VM - check log",
		l.task(http.MethodPost, "/nodes/vmhost/qemu/101/migrate", values("target=vmhost2")))
	l.must(http.MethodDelete, snapshots+"/installed", nil)
	l.must(http.MethodPost, snapshots, values("snapname=ejected"))
	require.Equal(t, "OK", l.task(http.MethodPost, "/nodes/vmhost/qemu/101/migrate", values("target=vmhost2")))
}

// TestCloneToAnotherNode checks that a clone can be created on another node if everything is on shared storage.
func TestCloneToAnotherNode(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=9000 template=1 scsi0=nas:1"))
	require.Equal(t, "nas:9000/base-9000-disk-0.raw,size=1G", l.config("9000")["scsi0"])
	l.must(http.MethodPost, "/nodes/vmhost/qemu/9000/clone", values("newid=101 full=1 target=vmhost2"))
	l.ok(http.MethodGet, "/nodes/vmhost2/qemu/101/config", nil, nil)
}
