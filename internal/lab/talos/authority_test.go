package talos_test

import (
	"testing"
	"time"

	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	machinetype "github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// signedBy returns a client of one machine, for an administrator with a certificate that a CA has signed. It trusts the given CAs.
func (l *lab) signedBy(ca *x509.PEMEncodedCertificateAndKey, trusted []byte, vmid int) *client.Client {
	l.t.Helper()

	certificate, err := secrets.NewAdminCertificateAndKey(time.Now(), ca, role.MakeSet(role.Admin), time.Hour)
	require.NoError(l.t, err)

	made, err := client.New(l.t.Context(), client.WithConfig(clientconfig.NewConfig("test", []string{l.address(vmid).String()}, trusted, certificate)))
	require.NoError(l.t, err)

	return l.client(made)
}

// TestTheCAOfTheTalosAPIIsReplaced goes through the steps of Talos' rotate-ca (talos v1.12.0, pkg/rotate/pki/talos). A worker accepts the
// CAs that the trustd of a control plane returns, so it changes after that control plane.
func TestTheCAOfTheTalosAPIIsReplaced(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	l.install(111, c.worker())
	l.waitStage(111, talos.StageRunning)

	made, err := secrets.NewTalosCA(time.Now())
	require.NoError(t, err)

	former, latter := c.bundle.Certs.OS, x509.NewCertificateAndKeyFromCertificateAuthority(made)
	both := append(append([]byte{}, former.Crt...), latter.Crt...)
	machines := []struct {
		vmid int
		kind machinetype.Type
	}{{101, machinetype.TypeControlPlane}, {111, machinetype.TypeWorker}}

	for _, step := range []struct {
		what              string
		by, issuing       *x509.PEMEncodedCertificateAndKey
		accepted, trusted []byte
		refused           bool // the former administrator
	}{
		{what: "accept", by: former, issuing: former, accepted: latter.Crt, trusted: former.Crt},
		{what: "issue", by: latter, issuing: latter, accepted: former.Crt, trusted: latter.Crt},
		{what: "drop", by: latter, issuing: latter, trusted: latter.Crt, refused: true},
	} {
		for _, m := range machines {
			_, err := l.signedBy(step.by, both, m.vmid).ApplyConfiguration(t.Context(), &machine.ApplyConfigurationRequest{
				Data: c.config(m.kind, issuedBy(step.issuing, step.accepted)), Mode: machine.ApplyConfigurationRequest_NO_REBOOT,
			})
			require.NoError(t, err)
			l.eventually(func() bool {
				_, err := l.signedBy(latter, step.trusted, m.vmid).Version(t.Context())

				return err == nil
			}, "%s: machine %d refuses the new CA", step.what, m.vmid)
			l.eventually(func() bool {
				_, err := l.signedBy(former, step.trusted, m.vmid).Version(t.Context())

				return (err != nil) == step.refused
			}, "%s: machine %d accepts or refuses the former CA", step.what, m.vmid)
		}

		l.eventually(func() bool {
			_, err := l.signedBy(latter, step.trusted, 101).Version(client.WithNode(t.Context(), l.address(111).String()))

			return err == nil
		}, "%s: the control plane does not forward to the worker", step.what)
	}
}

// issuedBy returns a patch for the CA of the Talos API, and for another one that is accepted.
func issuedBy(ca *x509.PEMEncodedCertificateAndKey, accepted []byte) func(*v1alpha1.Config) {
	return func(cfg *v1alpha1.Config) {
		issuing := &x509.PEMEncodedCertificateAndKey{Crt: ca.Crt}
		if len(cfg.MachineConfig.MachineCA.Key) > 0 {
			issuing.Key = ca.Key
		}

		cfg.MachineConfig.MachineCA = issuing
		if accepted != nil {
			cfg.MachineConfig.MachineAcceptedCAs = []*x509.PEMEncodedCertificate{{Crt: accepted}}
		}
	}
}
