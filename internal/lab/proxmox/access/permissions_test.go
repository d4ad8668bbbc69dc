package access_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

const (
	user  = "ci@pve"
	token = "ci@pve!deploy"
)

// database returns a user with a separated and a full token, in a group, and the roles A, B and C with one privilege each.
func database(t *testing.T, grants ...access.Grant) *access.Database {
	t.Helper()

	d := access.New(schema.Release84)
	d.SetToken(token, "s", access.Token{Separated: true})
	d.SetToken("ci@pve!full", "s", access.Token{})
	d.Groups["ops"] = &access.Group{}
	d.Users[user].Groups = []string{"ops"}

	for role, privilege := range map[string]string{"A": "VM.Audit", "B": "VM.Clone", "C": "VM.PowerMgmt"} {
		require.NoError(t, d.SetRole(role, []string{privilege}))
	}

	for _, g := range grants {
		d.AddGrant(g)
	}

	return d
}

func toUser(path, role string, propagate bool) access.Grant {
	return access.Grant{Path: path, Kind: access.KindUser, Subject: user, Role: role, Propagate: propagate}
}

func toToken(path, role string, propagate bool) access.Grant {
	return access.Grant{Path: path, Kind: access.KindToken, Subject: token, Role: role, Propagate: propagate}
}

func toGroup(path, role string) access.Grant {
	return access.Grant{Path: path, Kind: access.KindGroup, Subject: "ops", Role: role, Propagate: true}
}

func TestPermissions(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		grants   []access.Grant
		identity string
		path     string
		expected access.Permissions
	}{
		"nothing":       {nil, user, "/vms/101", access.Permissions{}},
		"unknown user":  {nil, "no@pve", "/", access.Permissions{}},
		"unknown token": {[]access.Grant{toUser("/", "A", true)}, "ci@pve!other", "/", access.Permissions{}},
		"from above": {
			[]access.Grant{toUser("/", "A", true)}, user, "/vms/101", access.Permissions{"VM.Audit": true},
		},
		"not handed down": {[]access.Grant{toUser("/", "A", false)}, user, "/vms/101", access.Permissions{}},
		"on the path itself": {
			[]access.Grant{toUser("/vms/101", "A", false)}, user, "/vms/101", access.Permissions{"VM.Audit": false},
		},
		"lower replaces upper": {
			[]access.Grant{toUser("/", "A", true), toUser("/vms", "B", true)}, user, "/vms/102", access.Permissions{"VM.Clone": true},
		},
		"what a pool inherits stays": {
			[]access.Grant{toUser("/", "A", true), toUser("/vms", "B", true)},
			user, "/vms/101",
			access.Permissions{"VM.Audit": false, "VM.Clone": true},
		},
		"several on one path": {
			[]access.Grant{toUser("/vms", "A", true), toUser("/vms", "B", true)},
			user, "/vms/101",
			access.Permissions{"VM.Audit": true, "VM.Clone": true},
		},
		"user before group": {
			[]access.Grant{toUser("/vms", "A", true), toGroup("/vms", "B")}, user, "/vms/101", access.Permissions{"VM.Audit": true},
		},
		"lower group before upper user": {
			[]access.Grant{toUser("/", "A", true), toGroup("/vms", "B")}, user, "/vms/102", access.Permissions{"VM.Clone": true},
		},
		"denied below": {
			[]access.Grant{toUser("/", "A", true), toUser("/vms/101", access.RoleNoAccess, true)}, user, "/vms/101", access.Permissions{},
		},
		"separated token, user has more": {
			[]access.Grant{toUser("/", "A", true), toUser("/", "B", true), toToken("/", "A", true)},
			token, "/vms/101",
			access.Permissions{"VM.Audit": true},
		},
		"separated token, user has less": {
			[]access.Grant{toUser("/vms/101", "A", false), toToken("/", "A", true), toToken("/", "B", true)},
			token, "/vms/101",
			access.Permissions{"VM.Audit": false},
		},
		"separated token without grants": {[]access.Grant{toUser("/", "A", true)}, token, "/vms/101", access.Permissions{}},
		"full token": {
			[]access.Grant{toUser("/", "A", true)}, "ci@pve!full", "/vms/101", access.Permissions{"VM.Audit": true},
		},
		"through a pool": {
			[]access.Grant{toUser("/pool/k3s", "B", true)}, user, "/vms/101", access.Permissions{"VM.Clone": false},
		},
		"through a pool besides the path": {
			[]access.Grant{toUser("/vms", "A", true), toUser("/pool/k3s", "B", true)},
			user, "/vms/101",
			access.Permissions{"VM.Audit": true, "VM.Clone": false},
		},
		"a storage through a pool": {
			[]access.Grant{toUser("/pool/k3s", "B", true)}, user, "/storage/tank", access.Permissions{"VM.Clone": false},
		},
		"denied by a pool": {
			[]access.Grant{toUser("/vms", "A", true), toUser("/pool/k3s", access.RoleNoAccess, true)},
			user, "/vms/101",
			access.Permissions{},
		},
		"denial on the path beats the pool": {
			[]access.Grant{toUser("/vms/101", access.RoleNoAccess, true), toUser("/pool/k3s", "B", true)},
			user, "/vms/101",
			access.Permissions{},
		},
	}

	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			d := database(t, test.grants...)
			d.Pools["k3s"] = &access.Pool{VMs: []int{101}, Storages: []string{"tank"}}
			require.Equal(t, test.expected, d.Permissions(test.identity, test.path))
		})
	}
}

func TestRootMayEverything(t *testing.T) {
	t.Parallel()

	for _, release := range schema.Releases() {
		d := access.New(release)
		require.NoError(t, d.Check(access.Root, "/anything", false, access.Privileges(release)...))
		require.NoError(t, d.Evaluate(schema.Rule{}, access.Root, nil))
	}
}

func TestBuiltinRoles(t *testing.T) {
	t.Parallel()

	// The roles of a fresh Proxmox VE 8.4 (pveum role list).
	d := access.New(schema.Release84)
	names := []string{}

	for name := range d.Roles {
		names = append(names, name)
	}

	require.ElementsMatch(t, []string{
		"Administrator", "NoAccess", "PVEAdmin", "PVEAuditor", "PVEDatastoreAdmin", "PVEDatastoreUser", "PVEMappingAdmin",
		"PVEMappingUser", "PVEPoolAdmin", "PVEPoolUser", "PVESDNAdmin", "PVESDNUser", "PVESysAdmin", "PVETemplateUser",
		"PVEUserAdmin", "PVEVMAdmin", "PVEVMUser",
	}, names)
	require.Equal(t, []string{
		"Datastore.Audit", "Mapping.Audit", "Pool.Audit", "SDN.Audit", "Sys.Audit", "VM.Audit",
	}, d.Roles["PVEAuditor"].Privileges)
	require.Equal(t, []string{
		"VM.Audit", "VM.Backup", "VM.Config.CDROM", "VM.Config.Cloudinit", "VM.Console", "VM.PowerMgmt",
	}, d.Roles["PVEVMUser"].Privileges)
	require.NotContains(t, d.Roles["PVEAdmin"].Privileges, "Mapping.Modify")
	require.Contains(t, d.Roles["PVEVMAdmin"].Privileges, "VM.Monitor")

	nine := access.New(schema.Release91)
	require.NotContains(t, nine.Roles["PVEVMAdmin"].Privileges, "VM.Monitor")
	require.Contains(t, nine.Roles["PVEVMAdmin"].Privileges, "VM.GuestAgent.Unrestricted")
	require.Contains(t, nine.Roles["PVEAuditor"].Privileges, "VM.GuestAgent.Audit")
}

func TestRules(t *testing.T) {
	t.Parallel()

	params := schema.Params{
		"vmid": schema.Scalar("101"), "userid": schema.Scalar(user), "groups": schema.Scalar("ops"), "path": schema.Scalar("/vms/101"),
	}
	audit := schema.Rule{Test: schema.Privilege, Path: "/vms/{vmid}", Privileges: []string{"VM.Audit"}}
	clone := schema.Rule{Test: schema.Privilege, Path: "/vms/{vmid}", Privileges: []string{"VM.Clone"}}
	either := schema.Rule{Test: schema.Privilege, Path: "/vms/{vmid}", Privileges: []string{"VM.Audit", "VM.Clone"}, Any: true}
	groups := schema.Rule{Test: schema.UserGroup, Privileges: []string{"User.Modify"}, GroupsParam: "create"}

	tests := map[string]struct {
		rule     schema.Rule
		identity string
		refusal  string
	}{
		"everyone":         {schema.Rule{Test: schema.Everyone}, "", ""},
		"nobody":           {schema.Rule{Test: schema.AnyUser}, "", "Permission check failed (user != null)"},
		"anybody":          {schema.Rule{Test: schema.AnyUser}, user, ""},
		"root only":        {schema.Rule{}, user, "Permission check failed (user != root@pam)"},
		"has it":           {audit, user, ""},
		"lacks it":         {clone, user, "Permission check failed (/vms/101, VM.Clone)"},
		"has one of them":  {either, user, ""},
		"one of the rules": {schema.Rule{Test: schema.AnyOf, Rules: []schema.Rule{clone, audit}}, user, ""},
		"none of the rules": {
			schema.Rule{Test: schema.AnyOf, Rules: []schema.Rule{clone, clone}}, user, "Permission check failed",
		},
		"not all rules": {
			schema.Rule{Test: schema.AllOf, Rules: []schema.Rule{audit, clone}},
			user,
			"Permission check failed (/vms/101, VM.Clone)",
		},
		"self":      {schema.Rule{Test: schema.UserParam, Subject: "self"}, user, ""},
		"not self":  {schema.Rule{Test: schema.UserParam, Subject: "self"}, token, "Permission check failed"},
		"realm":     {schema.Rule{Test: schema.UserParam, Subject: "Realm.AllocateUser"}, user, "Permission check failed (/access/realm/pve, Realm.AllocateUser)"},
		"odd":       {schema.Rule{Test: schema.UserParam, Subject: "odd"}, user, `Permission check failed: unknown user test "odd"`},
		"groups":    {groups, user, "Permission check failed (/access/groups/ops, User.Modify)"},
		"modify":    {schema.Rule{Test: schema.ModifyAccess, Path: "{path}"}, user, "Permission check failed (/vms/101, Permissions.Modify|VM.Allocate)"},
		"not there": {schema.Rule{Test: schema.Privilege, RequireParam: "pool"}, user, "Permission check failed"},
		"unknown":   {schema.Rule{Test: "odd"}, user, `Permission check failed: unknown permission test "odd"`},
	}

	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			err := database(t, toUser("/vms", "A", true)).Evaluate(test.rule, test.identity, params)
			if test.refusal == "" {
				require.NoError(t, err)
				return
			}

			require.ErrorIs(t, err, access.ErrPermission)
			require.EqualError(t, err, test.refusal)
		})
	}
}

func TestVerifyTokens(t *testing.T) {
	t.Parallel()

	now := time.Unix(1000, 0)
	d := database(t)
	d.SetToken("ci@pve!old", "s", access.Token{Expire: 999})
	d.Users["gone@pve"] = &access.User{}
	d.SetToken("gone@pve!t1", "s", access.Token{})
	d.Users["gone@pve"].Enabled = false

	identity, err := d.Verify(token+"=s", now)
	require.NoError(t, err)
	require.Equal(t, token, identity)

	for header, problem := range map[string]string{
		"nothing":        "authentication failure: no tokenid specified",
		"no@pve!t=s":     "authentication failure: no such user ('no@pve')",
		"ci@pve!no=s":    "authentication failure: no such token 'ci@pve!no'",
		token + "=other": "authentication failure: invalid token value!",
		"ci@pve!old=s":   "authentication failure: token 'ci@pve!old' access expired",
		"gone@pve!t1=s":  "authentication failure: user 'gone@pve' is disabled",
	} {
		_, err := d.Verify(header, now)
		require.ErrorIs(t, err, access.ErrAuthentication)
		require.EqualError(t, err, problem)
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()

	for path, normal := range map[string]string{
		"/": "/", "//vms//101/": "/vms/101", "vms": "/vms", "": "", "/a b": "", "/a@b": "", "/sdn/zones/localnetwork/vmbr0": "/sdn/zones/localnetwork/vmbr0",
	} {
		require.Equal(t, normal, access.NormalizePath(path), path)
	}
}
