package main

import (
	"bytes"
	"crypto/rand"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/role"
	"github.com/em-infra/em-infra/operator"
)

// hostWithRole returns a host of release 9.1 whose token has a role.
func hostWithRole(t *testing.T, name string, privileges []string) pve.Connection {
	t.Helper()
	token := proxmox.Token{ID: "ops@pve!k8s", Secret: rand.Text(), Role: name, Privileges: privileges}
	server, err := proxmox.NewServer(proxmox.Config{
		Release: schema.Release91, Tokens: []proxmox.Token{token},
		Hosts: []proxmox.Host{{Name: "vmhost", Cores: 4, MemoryMiB: 8 << 10}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	front := httptest.NewTLSServer(server)
	t.Cleanup(front.Close)
	return pve.Connection{Endpoint: front.URL, Token: token.ID + "=" + token.Secret, Insecure: true}
}

func TestCompareRole(t *testing.T) {
	t.Parallel()
	whole := proxmox.OperatorPrivileges(schema.Release91)
	without := slices.DeleteFunc(slices.Clone(whole), func(name string) bool { return name == "SDN.Use" })
	given := "pveum acl modify / --users ops@pve --roles EmInfraOperator\npveum acl modify / --tokens 'ops@pve!k8s' --roles EmInfraOperator\n"
	for _, test := range []struct {
		name, role string
		privileges []string
		want       string
	}{
		{"whole", role.Name, whole, "# role EmInfraOperator has all that is needed\n# token ops@pve!k8s has all of it on /\n"},
		{
			"more than needed", role.Name, append(slices.Clone(whole), "VM.Console"),
			"# role EmInfraOperator has all that is needed\n# role EmInfraOperator has more than is needed: VM.Console\n# token ops@pve!k8s has all of it on /\n",
		},
		{
			"one privilege short", role.Name, without,
			"# role EmInfraOperator lacks SDN.Use\n# token ops@pve!k8s lacks on /: SDN.Use\n# as root on the host:\n" +
				"pveum role modify EmInfraOperator --append 1 --privs \"SDN.Use\"\n",
		},
		{
			"another role", "Other", without,
			"# there is no role EmInfraOperator\n# token ops@pve!k8s lacks on /: SDN.Use\n# as root on the host:\n" +
				role.Commands(role.Need{Release: role.Release{Major: 9, Minor: 1}, GuestAgent: true}, role.DefaultToken)[0] + "\n" + given,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			host := hostWithRole(t, test.role, test.privileges)
			plan, err := operator.CompareRole(t.Context(), host, true)
			require.NoError(t, err)
			var out bytes.Buffer
			require.NoError(t, (&roleFlags{output: "text"}).print(&out, plan))
			require.Equal(t, "# Proxmox VE 9.1 at "+host.Endpoint+"\n"+test.want, out.String())
		})
	}
}
