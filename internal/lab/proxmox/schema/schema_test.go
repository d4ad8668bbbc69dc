package schema_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

func TestReleasesThatAreNone(t *testing.T) {
	t.Parallel()

	_, err := schema.Load("7.4")
	require.EqualError(t, err, "proxmox ve 7.4 is not emulated: choose one of 8.4, 9.1")
}

func TestRules(t *testing.T) {
	t.Parallel()

	tests := map[string]schema.Rule{
		`"all"`:   {Test: schema.AnyUser},
		`"world"`: {Test: schema.Everyone},
		`["perm","/vms/{vmid}",["VM.Audit","VM.Clone"],"any",1]`: {
			Test: schema.Privilege, Path: "/vms/{vmid}", Privileges: []string{"VM.Audit", "VM.Clone"}, Any: true,
		},
		`["or",["perm","/pool/{pool}",["VM.Allocate"],"require_param","pool"],["userid-param","self"]]`: {
			Test: schema.AnyOf,
			Rules: []schema.Rule{
				{Test: schema.Privilege, Path: "/pool/{pool}", Privileges: []string{"VM.Allocate"}, RequireParam: "pool"},
				{Test: schema.UserParam, Subject: "self"},
			},
		},
		`["userid-group",["User.Modify"],"groups_param","create"]`: {
			Test: schema.UserGroup, Privileges: []string{"User.Modify"}, GroupsParam: "create",
		},
		`["perm-modify","{path}"]`: {Test: schema.ModifyAccess, Path: "{path}"},
		`[]`:                       {},
	}

	for text, expected := range tests {
		var rule schema.Rule

		require.NoError(t, json.Unmarshal([]byte(text), &rule), text)
		require.Equal(t, expected, rule, text)
	}

	for text, problem := range map[string]string{
		`["not"]`:                          `not a permission rule: "not"`,
		`["perm","/"]`:                     "not a permission rule: perm is incomplete",
		`["perm","/",["A.B"],"any"]`:       "not a permission rule: option without a value",
		`["perm","/",["A.B"],"some",1]`:    `not a permission rule: option "some"`,
		`["perm","/",["A.B"],"any","two"]`: `"two" is no flag`,
	} {
		var rule schema.Rule

		require.EqualError(t, json.Unmarshal([]byte(text), &rule), problem)
	}
}

func TestForms(t *testing.T) {
	t.Parallel()

	params := schema.DecodeForm("a=1&b=x+y%2Fz;c&d=&a=2&e=f=g&%zz=%zz")
	require.Equal(t, schema.Params{
		"a": {Items: []string{"1", "2"}, Ref: "ARRAY"}, "b": {Items: []string{"x y/z"}}, "c": {}, "d": {},
		"e": {Items: []string{"f"}}, "%zz": {Items: []string{"%zz"}},
	}, params)

	require.Equal(t, "x y/z", params.Get("b"))
	require.Empty(t, params.Get("d"))
	require.True(t, params.Has("d"))
	require.False(t, params.Has("z"))
	require.Equal(t, 7, params.Int("z", 7))
	require.True(t, params.Bool("z", true))
	require.Equal(t, []string{"1", "2"}, params.All("a"))
	require.Equal(t, []string{"%zz", "a", "b", "c", "d", "e"}, params.Names())
	require.False(t, params.Without("a").Has("a"))
	require.True(t, params.Has("a"), "the original stays")
}

func TestTyped(t *testing.T) {
	t.Parallel()

	raw, err := json.Marshal(schema.Typed{
		Values: map[string]string{"cores": "2", "onboot": "1", "memory": "2048", "net0": "virtio", "scsi0": "a:1", "other": "5"},
		Declared: map[string]*schema.Property{
			"cores": {Type: schema.Integer}, "onboot": {Type: schema.Boolean}, "memory": {Type: schema.String},
			"net[n]": {Type: schema.String}, "scsi[n]": {Type: schema.Integer},
		},
	})
	require.NoError(t, err)
	require.JSONEq(t, `{"cores":2,"onboot":1,"memory":"2048","net0":"virtio","scsi0":"a:1","other":"5"}`, string(raw))
}

func TestIndexes(t *testing.T) {
	t.Parallel()

	set := map[string]*schema.Property{"net[n]": {}, "numa": {}, "numa[n]": {}, "audio0": {}}

	for name, known := range map[string]bool{
		"net0": true, "net31": true, "net32": false, "net": false, "net01": false, "net[n]": false, "numa": true, "numa7": true,
		"numa8": false, "audio0": true, "audio1": false, "": false,
	} {
		_, ok := schema.Lookup(set, name)
		require.Equal(t, known, ok, name)
	}
}
