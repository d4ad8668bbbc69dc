package status_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/operator/internal/status"
)

func at(days int) *time.Time {
	then := today.AddDate(0, 0, days)
	return &then
}

// TestPrintCredentials checks that the credentials are listed by their ends, and which of them are due.
func TestPrintCredentials(t *testing.T) {
	t.Parallel()
	r := wellReport().At(remedy.Place{Stack: "--stack k3s-dev"})
	r.Certificates[0].Begins, r.Certificates[1].Begins = *at(-1), *at(-1)
	r = r.WithCredentials([]status.Credential{
		{Kind: status.KindProxmoxToken, Name: "em-infra@pve!operator", Ends: at(29), Rotation: "rotate proxmox-token"},
		{Kind: status.KindTalosCA, Made: at(-3300), Ends: at(364)},
		{Kind: status.KindEtcdCA, Made: at(-1), Ends: at(3650)},
		{Kind: status.KindSecretsProvider, Name: "passphrase"},
		{Kind: status.KindRecoveryKit, Name: "2026-11-20-kit.tar.age", Made: at(-1), Rotation: "kit create"},
	})
	var text strings.Builder
	require.NoError(t, r.WriteText(&text))
	require.Contains(t, text.String(), `
CREDENTIAL                           AGE        ENDS        ROTATED BY
Proxmox token em-infra@pve!operator  unknown    2026-12-20  rotate proxmox-token
talosconfig                          24 h       2027-11-20  up
kubeconfig                           24 h       2027-11-20  up
Talos CA                             3300 days  2027-11-20  hand
etcd CA                              24 h       2036-11-18  hand
state secrets passphrase             unknown    never       hand
recovery kit 2026-11-20-kit.tar.age  24 h       never       kit create

`)
	require.Contains(t, text.String(), "credential    Proxmox token em-infra@pve!operator ends on 2026-12-20: `em-infra rotate proxmox-token --stack k3s-dev` rotates it\n"+
		"credential    Talos CA ends on 2027-11-20: rotate it by hand, see docs/security.md\n")
	require.NotContains(t, text.String(), "certificates  ", "they are in the table")
	var order []string
	for _, c := range r.Credentials {
		order = append(order, fmt.Sprintf("%s %t", c.Kind, c.Due))
	}
	require.Equal(t, []string{"Proxmox token true", "talosconfig false", "kubeconfig false", "Talos CA true", "etcd CA false", "state secrets false", "recovery kit false"}, order)
}

// TestATokenThatMayNotReadItsEnd: what is not known is not printed as "never".
func TestATokenThatMayNotReadItsEnd(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		code          int
		body, problem string
		ends          *time.Time
	}{
		{http.StatusOK, `{"data":[{"userid":"a@pve","expire":0,"tokens":[{"tokenid":"t","expire":0}]}]}`, "", nil},
		{http.StatusOK, `{"data":[{"userid":"a@pve","expire":1798761600,"tokens":[{"tokenid":"t","expire":1798848000}]}]}`, "", new(time.Unix(1798761600, 0).UTC())},
		{http.StatusOK, `{"data":[{"userid":"b@pve","tokens":[]}]}`, "the token may not read its own end: give it Sys.Audit on /access/groups", nil},
		{http.StatusForbidden, `{"data":null}`, "the token may not read its own end: give it Sys.Audit on /access/groups", nil},
		{http.StatusInternalServerError, `{"data":null}`, "Proxmox VE does not say when the token ends (Internal Server Error)", nil},
	} {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(test.code)
			_, _ = w.Write([]byte(test.body))
		}))
		t.Cleanup(server.Close)
		host, err := pve.NewReader(pve.Connection{Endpoint: server.URL, Token: "a@pve!t=0-0", Insecure: true})
		require.NoError(t, err)
		require.Equal(t, status.Credential{Kind: status.KindProxmoxToken, Name: "a@pve!t", Ends: test.ends, Problem: test.problem, Rotation: "rotate proxmox-token"}, status.AskToken(t.Context(), host, "a@pve!t"))
	}
	r := wellReport()
	r.Certificates = nil
	r = r.WithCredentials([]status.Credential{{Kind: status.KindProxmoxToken, Name: "a@pve!t", Problem: "the token may not read its own end"}})
	var text strings.Builder
	require.NoError(t, r.WriteText(&text))
	require.Contains(t, text.String(), "Proxmox token a@pve!t  unknown  unknown  hand\n")
	require.Contains(t, text.String(), "credential    Proxmox token a@pve!t: the token may not read its own end\n")
}
