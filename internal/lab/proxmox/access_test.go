package proxmox_test

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// administrator starts a lab whose token has all privileges.
func administrator(t *testing.T) *lab {
	t.Helper()

	return newLab(t, func(c *proxmox.Config) { c.Tokens[0].Role, c.Tokens[0].Privileges = "Administrator", nil })
}

// TestOperatorIsSetUp follows the documented setup of role, user, token and access control by an administrator, and uses the
// resulting token.
func TestOperatorIsSetUp(t *testing.T) {
	t.Parallel()

	l := administrator(t)
	l.ok(http.MethodPost, "/access/roles", values("roleid=Reader privs=VM.Audit,Sys.Audit"), nil)
	l.ok(http.MethodPost, "/access/groups", values("groupid=ops comment=x"), nil)
	l.ok(http.MethodPost, "/access/users", values("userid=ci@pve comment=CI groups=ops enable=1"), nil)

	var token struct {
		ID    string `json:"full-tokenid"`
		Value string
		Info  struct{ PrivSep int }
	}

	l.ok(http.MethodPost, "/access/users/ci@pve/token/deploy", values("comment=x"), &token)
	require.Equal(t, "ci@pve!deploy", token.ID)
	require.Equal(t, 1, token.Info.PrivSep)

	as := func(path string) string {
		r, err := l.try(context.Background(), token.ID+"="+token.Value, http.MethodGet, path, nil)
		require.NoError(t, err)

		return r.Status
	}

	require.Equal(t, "403 Permission check failed (/nodes/vmhost, Sys.Audit)", as("/nodes/vmhost/status"))
	l.ok(http.MethodPut, "/access/acl", values("path=/ roles=Reader users=ci@pve"), nil)
	require.Equal(t, "403 Permission check failed (/nodes/vmhost, Sys.Audit)", as("/nodes/vmhost/status"), "the token is separated")
	l.ok(http.MethodPut, "/access/acl", values("path=/ roles=Reader tokens=ci@pve!deploy propagate=0"), nil)
	require.Equal(t, "403 Permission check failed (/nodes/vmhost, Sys.Audit)", as("/nodes/vmhost/status"), "not propagated")
	l.ok(http.MethodPut, "/access/acl", values("path=/ roles=Reader tokens=ci@pve!deploy"), nil)
	require.Equal(t, "200 OK", as("/nodes/vmhost/status"))

	// A lower entry replaces inherited ones; NoAccess removes all privileges.
	l.ok(http.MethodPut, "/access/acl", values("path=/nodes/vmhost roles=NoAccess tokens=ci@pve!deploy"), nil)
	require.Equal(t, "403 Permission check failed (/nodes/vmhost, Sys.Audit)", as("/nodes/vmhost/status"))
	l.ok(http.MethodPut, "/access/acl", values("path=/nodes/vmhost roles=NoAccess tokens=ci@pve!deploy delete=1"), nil)
	require.Equal(t, "200 OK", as("/nodes/vmhost/status"))

	// A separated token has at most its user's privileges.
	l.ok(http.MethodPut, "/access/acl", values("path=/ roles=Reader users=ci@pve delete=1"), nil)
	require.Equal(t, "403 Permission check failed (/nodes/vmhost, Sys.Audit)", as("/nodes/vmhost/status"))
	l.ok(http.MethodPut, "/access/acl", values("path=/ roles=Reader groups=ops"), nil)
	require.Equal(t, "200 OK", as("/nodes/vmhost/status"), "through the group")
	l.ok(http.MethodPut, "/access/users/ci@pve", values("enable=0"), nil)
	require.Equal(t, "401 Authentication failed!", as("/version"))
	l.ok(http.MethodPut, "/access/users/ci@pve", values("enable=1 expire=1"), nil)
	require.Equal(t, "401 Authentication failed!", as("/version"))
	l.ok(http.MethodPut, "/access/users/ci@pve", values("expire=0"), nil)
	l.ok(http.MethodPut, "/access/users/ci@pve/token/deploy", values("expire=1"), nil)
	require.Equal(t, "401 Authentication failed!", as("/version"))
	l.ok(http.MethodDelete, "/access/users/ci@pve/token/deploy", nil, nil)
	require.Equal(t, "401 Authentication failed!", as("/version"))
}

func TestUsersGroupsRoles(t *testing.T) {
	t.Parallel()

	l := administrator(t)
	l.ok(http.MethodPost, "/access/groups", values("groupid=ops"), nil)
	l.ok(http.MethodPost, "/access/users", values("userid=ci@pve firstname=C lastname=I email=c@i.example groups=ops"), nil)
	l.ok(http.MethodPost, "/access/users/ci@pve/token/deploy", nil, nil)

	var user map[string]any

	l.ok(http.MethodGet, "/access/users/ci@pve", nil, &user)
	require.Equal(t, map[string]any{
		"enable": 1.0, "expire": 0.0, "firstname": "C", "lastname": "I", "email": "c@i.example", "groups": []any{"ops"},
		"tokens": map[string]any{"deploy": map[string]any{"expire": 0.0, "privsep": 1.0}},
	}, user)

	var group struct{ Members []string }

	l.ok(http.MethodGet, "/access/groups/ops", nil, &group)
	require.Equal(t, []string{"ci@pve"}, group.Members)

	var role map[string]int

	l.ok(http.MethodPost, "/access/roles", values("roleid=R privs=VM.Audit"), nil)
	l.ok(http.MethodPut, "/access/roles/R", values("privs=VM.Clone append=1"), nil)
	l.ok(http.MethodGet, "/access/roles/R", nil, &role)
	require.Equal(t, map[string]int{"VM.Audit": 1, "VM.Clone": 1}, role)
	l.ok(http.MethodPut, "/access/roles/R", values("privs=VM.Clone"), nil)

	var again map[string]int

	l.ok(http.MethodGet, "/access/roles/R", nil, &again)
	require.Equal(t, map[string]int{"VM.Clone": 1}, again)

	var permissions map[string]map[string]int

	l.ok(http.MethodPut, "/access/acl", values("path=/vms/101 roles=R users=ci@pve propagate=0"), nil)
	l.ok(http.MethodGet, "/access/permissions", values("userid=ci@pve"), &permissions)
	require.Equal(t, map[string]map[string]int{"/vms/101": {"VM.Clone": 0}}, permissions)

	l.ok(http.MethodDelete, "/access/groups/ops", nil, nil)
	l.ok(http.MethodDelete, "/access/users/ci@pve", nil, nil)
	l.ok(http.MethodDelete, "/access/roles/R", nil, nil)

	var acl []struct{ UGID string }

	l.ok(http.MethodGet, "/access/acl", nil, &acl)
	require.False(t, slices.ContainsFunc(acl, func(e struct{ UGID string }) bool { return e.UGID == "ci@pve" }))
}

func TestRefusedAccessChanges(t *testing.T) {
	t.Parallel()

	l := administrator(t)
	l.ok(http.MethodPost, "/access/users", values("userid=ci@pve"), nil)
	l.ok(http.MethodPost, "/access/users/ci@pve/token/deploy", nil, nil)

	tests := map[string]struct{ verb, path, params, refusal string }{
		"a user twice":        {http.MethodPost, "/users", "userid=ci@pve", "500 create user failed: user 'ci@pve' already exists"},
		"no such group":       {http.MethodPost, "/users", "userid=a@pve groups=none", "500 create user failed: no such group 'none'"},
		"no such user":        {http.MethodGet, "/users/none@pve/token", "", "403 Permission check failed"},
		"no such account":     {http.MethodGet, "/users/none@pve", "", "500 no such user ('none@pve')"},
		"no such token":       {http.MethodDelete, "/users/ci@pve/token/none", "", "500 no such token 'none' for user 'ci@pve'"},
		"a token twice":       {http.MethodPost, "/users/ci@pve/token/deploy", "", "400 Parameter verification failed."},
		"a reserved role":     {http.MethodPost, "/roles", "roleid=PVEMine", "400 Parameter verification failed."},
		"an unknown right":    {http.MethodPost, "/roles", "roleid=R privs=VM.Fly", "500 create role failed: invalid privilege 'VM.Fly'"},
		"a built-in role":     {http.MethodPut, "/roles/PVEAdmin", "privs=VM.Audit", "500 auto-generated role 'PVEAdmin' cannot be modified"},
		"deleting a built-in": {http.MethodDelete, "/roles/PVEAdmin", "", "500 auto-generated role 'PVEAdmin' cannot be deleted"},
		"no such role":        {http.MethodPut, "/acl", "path=/ roles=None users=ci@pve", "500 ACL update failed: role 'None' does not exist"},
		"no subject":          {http.MethodPut, "/acl", "path=/ roles=PVEAdmin", "400 Parameter verification failed."},
		"no such subject":     {http.MethodPut, "/acl", "path=/ roles=PVEAdmin users=none@pve", "500 ACL update failed: user 'none@pve' does not exist"},
		"no path":             {http.MethodPut, "/acl", "path=/moon roles=PVEAdmin users=ci@pve", "400 Parameter verification failed."},
	}

	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.refusal, l.do(test.verb, "/access"+test.path, values(test.params)).Status)
		})
	}
}

// TestPathsOfFabrics: the access control has them from the release 9 on.
func TestPathsOfFabrics(t *testing.T) {
	t.Parallel()

	for release, status := range map[schema.Release]string{
		schema.Release84: "400 Parameter verification failed.", schema.Release91: "500 ACL update failed: user 'none@pve' does not exist",
	} {
		t.Run(string(release), func(t *testing.T) {
			t.Parallel()

			l := newLab(t, func(c *proxmox.Config) {
				c.Release, c.Tokens[0].Role, c.Tokens[0].Privileges = release, "Administrator", nil
			})
			for _, path := range []string{"/sdn/fabrics", "/sdn/fabrics/spine1"} {
				require.Equal(t, status, l.do(http.MethodPut, "/access/acl", values("roles=PVEAuditor users=none@pve path="+path)).Status)
			}
			require.Equal(t, "400 Parameter verification failed.",
				l.do(http.MethodPut, "/access/acl", values("roles=PVEAuditor users=none@pve path=/sdn/fabrics/spine-1")).Status)
		})
	}
}

// TestMissingSubjectsInOrder checks that the first of several missing subjects is reported, groups before users before
// tokens, every time (pve-access-control API2/ACL.pm, update_acl).
func TestMissingSubjectsInOrder(t *testing.T) {
	t.Parallel()

	l := administrator(t)

	for range 30 {
		require.Equal(t, "500 ACL update failed: group 'none' does not exist", l.do(http.MethodPut, "/access/acl",
			values("path=/ roles=PVEAdmin tokens=none@pve!none users=none@pve groups=none")).Status)
	}
}

// TestHandingOutRights checks that a caller who must not modify permissions can grant only its own privileges.
func TestHandingOutRights(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.template()

	give := func(role string) map[string]string {
		return l.do(http.MethodPut, "/access/acl", values("path=/vms/9000 users=terraform@pve roles="+role)).Errors
	}

	require.Equal(t, map[string]string{
		"role": "Cannot add role 'PVEVMAdmin' - requires 'Permissions.Modify' or superset of privileges.",
	}, give("PVEVMAdmin"))
	require.Equal(t, map[string]string{"role": "Cannot add role 'NoAccess' - requires 'Permissions.Modify'"}, give("NoAccess"))
	require.Empty(t, give("PVETemplateUser"))
	require.Equal(t, "403 Permission check failed (/nodes/vmhost, Permissions.Modify)",
		l.do(http.MethodPut, "/access/acl", values("path=/nodes/vmhost users=terraform@pve roles=PVETemplateUser")).Status)
}

func TestPools(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.ok(http.MethodPost, "/pools", values("poolid=k3s comment=x"), nil)
	l.ok(http.MethodPost, "/pools", values("poolid=other"), nil)
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 pool=k3s"))
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=102"))
	l.ok(http.MethodPut, "/pools/k3s", values("vms=102 storage=tank comment=y"), nil)

	var pool struct {
		Comment string
		Members []struct{ ID, Pool string }
	}

	l.ok(http.MethodGet, "/pools/k3s", nil, &pool)
	require.Equal(t, "y", pool.Comment)
	require.Equal(t, []struct{ ID, Pool string }{{"qemu/101", "k3s"}, {"qemu/102", "k3s"}, {"storage/vmhost/tank", ""}}, pool.Members)

	for params, status := range map[string]string{
		"vms=101":                      "500 update pools failed: VM 101 is already a pool member",
		"vms=999 delete=1":             "500 update pools failed: VM 999 is not a pool member",
		"storage=tank":                 "500 update pools failed: Storage 'tank' is already a pool member",
		"storage=local delete=1":       "500 update pools failed: Storage 'local' is not a pool member",
		"storage=tank delete=1 vms=xx": "400 Parameter verification failed.",
	} {
		require.Equal(t, status, l.do(http.MethodPut, "/pools/k3s", values(params)).Status, params)
	}

	require.Equal(t, "500 update pools failed: VM 101 belongs already to pool 'k3s' and 'allow-move' is not set",
		l.do(http.MethodPut, "/pools/other", values("vms=101")).Status)
	l.ok(http.MethodPut, "/pools/other", values("vms=101 allow-move=1"), nil)
	require.Equal(t, "500 delete pool failed: pool 'other' is not empty (contains VM 101)",
		l.do(http.MethodDelete, "/pools/other", nil).Status)
	l.must(http.MethodDelete, "/nodes/vmhost/qemu/101", nil)
	l.ok(http.MethodDelete, "/pools/other", nil, nil)
	require.Equal(t, "500 pool 'other' does not exist", l.do(http.MethodGet, "/pools/other", nil).Status)
	require.Equal(t, "500 create pool failed: pool 'k3s' already exists",
		l.do(http.MethodPost, "/pools", values("poolid=k3s")).Status)
}

// TestNestedPools: a nested pool is created only if its parent exists, and a pool that contains another one is not deleted.
func TestNestedPools(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	require.Equal(t, "500 create pool failed: parent 'tenants' of pool 'tenants/web' does not exist",
		l.do(http.MethodPost, "/pools", values("poolid=tenants/web")).Status)
	l.ok(http.MethodPost, "/pools", values("poolid=tenants"), nil)
	l.ok(http.MethodPost, "/pools", values("poolid=tenants/web"), nil)
	require.Equal(t, "500 delete pool failed: pool 'tenants' is not empty (contains pool 'tenants/web')",
		l.do(http.MethodDelete, "/pools?poolid=tenants", nil).Status)
	l.ok(http.MethodDelete, "/pools?poolid=tenants%2Fweb", nil, nil)
	l.ok(http.MethodDelete, "/pools?poolid=tenants", nil, nil)
}

func TestTasks(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.template()
	l.must(http.MethodPost, "/nodes/vmhost/qemu/9000/clone", values("newid=101 full=1"))
	l.task(http.MethodPost, "/nodes/vmhost/qemu/9000/status/start", nil)

	types := func(params string) []string {
		var tasks []listedTask

		l.ok(http.MethodGet, "/nodes/vmhost/tasks", values(params), &tasks)

		list := []string{}
		for _, task := range tasks {
			list = append(list, task.Type)
		}

		return list
	}

	require.Equal(t, []string{"qmstart", "qmclone", "qmcreate"}, types(""))
	require.Equal(t, []string{"qmstart"}, types("errors=1"))
	require.Equal(t, []string{"qmclone"}, types("typefilter=qmclone"))
	require.Equal(t, []string{"qmclone"}, types("start=1 limit=1"))
	require.Equal(t, []string{"qmclone", "qmcreate"}, types("statusfilter=ok"))
	require.Empty(t, types("vmid=101"))
	require.Empty(t, types("source=active"))
	require.Empty(t, types("userfilter=root"))
	require.Empty(t, types("since=4000000000"))
	require.Empty(t, types("until=1"))

	require.Equal(t, map[string]string{"upid": "unable to parse worker upid"},
		l.do(http.MethodGet, "/nodes/vmhost/tasks/UPID:x/status", nil).Errors)
	require.Equal(t, map[string]string{"upid": "no such task"},
		l.do(http.MethodGet, "/nodes/vmhost/tasks/UPID:vmhost:00000001:00000001:00000001:qmstart:1:root@pam:/status", nil).Errors)
}
