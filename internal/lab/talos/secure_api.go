package talos

import (
	"context"
	"errors"
	"time"

	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/config"

	"github.com/em-infra/em-infra/internal/lab/talos/apid"
	"github.com/em-infra/em-infra/internal/lab/talos/service"
)

// openSecureAPI obtains the node's certificates and opens the API. A worker waits until a control plane signs them.
func (s *system) openSecureAPI(ctx context.Context, cfg config.Provider) error {
	if err := errors.Join(
		s.services.Set("apid", service.Waiting, "Waiting for api certificates"),
		s.vm.step(ctx, StepCertificate, 0),
	); err != nil {
		return err
	}

	certificates, err := s.issue(ctx, cfg)
	if err != nil {
		return err
	}

	keys := &keyring{}
	keys.current.Store(certificates)

	if err := s.startAPID(ctx, keys); err != nil {
		return err
	}

	s.inBackground(s.renew)

	return s.services.Start("apid")
}

func (s *system) startAPID(ctx context.Context, keys *keyring) error {
	config, err := keys.serverConfig(func() time.Duration { return s.vm.effect(StepHandshake).Skew })
	if err != nil {
		return err
	}

	listeners, err := s.listen(ctx, s.hardware.addresses())
	if err != nil {
		return err
	}

	forward := keys.forwardConfig()
	watch := &guard{vm: s.vm, listeners: listeners, forwards: forward != nil}

	front, err := apid.Serve(apid.Options{
		Listeners: listeners.All(), TLS: config, Forward: forward, Port: s.fleet.config.Port,
		Machined: s.startMachined().connect, IsLocal: s.isLocal, Guard: watch.stream,
	})
	if err != nil {
		listeners.Close()

		return err
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	s.front, s.keys = front, keys

	return nil
}

// isLocal reports whether a client's target, a name or an address, is this node.
func (s *system) isLocal(target string) bool {
	n, err := s.network(s.config())

	return err == nil && n.isLocal(target)
}

// issue obtains certificates: a control plane signs its own, a worker asks a control plane.
func (s *system) issue(ctx context.Context, cfg config.Provider) (*issued, error) {
	n, err := s.network(cfg)
	if err != nil {
		return nil, err
	}

	skew := s.vm.effect(StepSign).Skew
	s.wrongClock.Store(skew != 0)

	who, now := subjectOf(cfg, n), s.fleet.config.Now().Add(skew)

	if cfg.Machine().Type().IsControlPlane() {
		return issueOwn(cfg, who, now)
	}

	return s.issueRemote(ctx, cfg, who, now)
}

// reissue replaces the certificates of the open API.
func (s *system) reissue(ctx context.Context, cfg config.Provider) error {
	certificates, err := s.issue(ctx, cfg)
	if err != nil {
		return err
	}

	s.mu.Lock()
	keys, front := s.keys, s.front
	s.mu.Unlock()

	former := keys.current.Swap(certificates)

	if server, serves := front.(*apid.Server); serves && !former.accepted.Equal(certificates.accepted) {
		return server.Renew(keys.forwardConfig())
	}

	return nil
}

// clockInterval is how often a node with a wrong clock asks its time servers, before scaling.
const clockInterval = 30 * time.Second

// renew replaces the certificates after half of their validity, in real time, because the clients are real. Certificates of a
// wrong clock are replaced as soon as the clock is set (controllers/secrets/api.go, reconcile: a jump of the time).
func (s *system) renew(ctx context.Context) error {
	for {
		if err := s.untilRenewal(ctx); err != nil {
			return err
		}

		if err := s.reissue(ctx, s.config()); err != nil {
			return err
		}
	}
}

func (s *system) untilRenewal(ctx context.Context) error {
	if s.wrongClock.Load() {
		return s.vm.untilRetry(ctx, clockInterval)
	}

	select {
	case <-time.After(x509.DefaultCertificateValidityDuration / 2):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
