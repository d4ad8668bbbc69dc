package proxmox_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStoragesAreDefined follows a storage from its definition to its removal, which leaves its files to the server.
func TestStoragesAreDefined(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)

	var made map[string]any

	l.ok(http.MethodPost, "/storage", values("storage=share type=cifs server=10.0.0.5 share=pve username=u password=p content=images,iso"), &made)
	require.Equal(t, map[string]any{"storage": "share", "type": "cifs"}, made)

	var shown map[string]any

	l.ok(http.MethodGet, "/storage/share", nil, &shown)
	require.Regexp(t, "^[0-9a-f]{40}$", shown["digest"])
	delete(shown, "digest")
	require.Equal(t, map[string]any{
		"storage": "share", "type": "cifs", "server": "10.0.0.5", "share": "pve", "username": "u", "content": "images,iso",
		"path": "/mnt/pve/share", "shared": 1.0,
	}, shown, "the password is not read back")

	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 scsi0=share:1"))
	l.ok(http.MethodPut, "/storage/share", values("content=iso nodes=vmhost2 delete=username"), nil)
	l.ok(http.MethodGet, "/storage/share", nil, &shown)
	require.Equal(t, "vmhost2", shown["nodes"])
	require.Equal(t, "iso", shown["content"])
	require.Equal(t, "500 storage 'share' is not available on node 'vmhost'",
		l.do(http.MethodGet, "/nodes/vmhost/storage/share/content", nil).Status)

	l.ok(http.MethodDelete, "/storage/share", nil, nil)
	require.Equal(t, "500 storage 'share' does not exist", l.do(http.MethodGet, "/storage/share", nil).Status)
}

func TestRefusedStorages(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)

	for name, test := range map[string]struct{ verb, path, params, problem string }{
		"one that is there": {
			http.MethodPost, "", "storage=nas type=nfs server=10.0.0.5 export=/tank", "create storage failed: storage ID 'nas' already defined",
		},
		"without what is required":      {http.MethodPost, "", "storage=x1 type=nfs server=10.0.0.5", "missing value for required option 'export'"},
		"a setting of another type":     {http.MethodPost, "", "storage=x1 type=lvmthin vgname=pve thinpool=data server=10.0.0.5", "unexpected property 'server'"},
		"content that it does not hold": {http.MethodPost, "", "storage=x1 type=zfspool pool=tank content=iso", "storage does not support content type 'iso'"},
		"a backup server without a password": {
			http.MethodPost, "", "storage=x1 type=pbs server=10.0.0.5 datastore=d username=u@pbs",
			"create storage failed: x1: error fetching datastores - 401 Unauthorized",
		},
		"a fixed setting":   {http.MethodPut, "/nas", "server=10.0.0.6", "update storage failed: can't change value of fixed parameter 'server'"},
		"to unset its pool": {http.MethodPut, "/tank", "delete=pool", "update storage failed: unable to delete required option 'pool'"},
		"to change none":    {http.MethodPut, "/none", "content=iso", "update storage failed: storage 'none' does not exist"},
		"to delete none":    {http.MethodDelete, "/none", "", "delete storage failed: storage 'none' does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, "500 "+test.problem, l.do(test.verb, "/storage"+test.path, values(test.params)).Status)
		})
	}
}
