// Package talos emulates the Talos Linux nodes of a lab: machines that boot when their VM starts, wait in maintenance
// mode for a configuration, install, reboot and come back with the secure API under their cluster's own PKI.
//
// Configuration parsing and validation, PKI, gRPC, access control and kubeconfig generation are Talos' own code. What a
// kernel, a disk or a container runtime would do is emulated, and takes the time that Durations says. Facts come from
// Talos v1.12.0; comments name the file, relative to that module.
package talos

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"io"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/constants"
)

// Pacer makes the lab's delays as long as the lab's time scale wants them.
type Pacer interface {
	// Sleep waits for d, scaled. It returns early, with the context's error, when the context ends.
	Sleep(ctx context.Context, d time.Duration) error
}

// Config is what a fleet needs from the lab around it. Only StateDir has no default.
type Config struct {
	// StateDir is the directory that outlives the process: machines, disk contents, etcd memberships. It holds
	// machine configurations, so it and its files are readable by their owner only.
	StateDir string
	// Pace scales the delays; nil is no delay at all.
	Pace Pacer
	// Durations are the delays before scaling; the zero value is AssumedDurations.
	Durations Durations
	// Log receives one JSON object per line for every call and every step of a machine's life, never a secret; nil
	// discards them.
	Log io.Writer
	// Port of the Talos API on every node; 0 is 50000 (machinery constants.ApidPort). Clients append it themselves.
	Port uint16
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Rand is the source of boot and node identifiers; nil is crypto/rand.
	Rand io.Reader
	// Seed decides in which order a machine finds its disks.
	Seed [sha256.Size]byte
	// Installer says which Talos an installer image or a boot ISO carries; nil is ReleaseFromReference. An error makes
	// the installation or the upgrade fail, as an image does that cannot be pulled.
	Installer func(ref string) (Release, error)
	// Faults decides what goes wrong; nil is nothing.
	Faults Faults
	// OnPowerOff is told of every machine that switches itself off, be it asked by API or by the power button, but not
	// of PowerOff. It may call the fleet.
	OnPowerOff func(vmid int)
	// Kubernetes is told what the nodes run for Kubernetes; nil is nobody.
	Kubernetes Kubernetes
}

// Durations of the steps of a machine's life.
type Durations struct {
	// Boot is from power-on to maintenance mode, firmware, kernel and network included.
	Boot time.Duration
	// Install is from the accepted configuration to the reboot: pull of the installer image and writing the disk.
	Install time.Duration
	// Reboot is from the end of one boot to the Talos API of the next.
	Reboot time.Duration
	// Services is from the Talos API to the container runtime, before which bootstrap is refused.
	Services time.Duration
	// EtcdBootstrap is from the bootstrap call to a healthy etcd: pull of the image and first start.
	EtcdBootstrap time.Duration
	// EtcdJoin is what each step of a further member takes: start as learner, promotion.
	EtcdJoin time.Duration
	// Stop is what stopping all services takes before a reboot or power-off.
	Stop time.Duration
	// Failure is the pause before the reboot that follows a failed boot (internal/app/machined/main.go: 10 s).
	Failure time.Duration
	// Affiliate is how long a node that vanished stays known to its cluster (discovery_service.go: 30 min).
	Affiliate time.Duration
}

// AssumedDurations are those of a small server with local SSDs. Where no source is named they are assumptions.
func AssumedDurations() Durations {
	return Durations{
		Boot:          18 * time.Second,
		Install:       25 * time.Second,
		Reboot:        20 * time.Second,
		Services:      3 * time.Second,
		EtcdBootstrap: 12 * time.Second,
		EtcdJoin:      6 * time.Second,
		Stop:          4 * time.Second,
		Failure:       10 * time.Second,
		Affiliate:     30 * time.Minute,
	}
}

func (c Config) withDefaults() Config {
	if c.Pace == nil {
		c.Pace = noDelay{}
	}

	if c.Durations == (Durations{}) {
		c.Durations = AssumedDurations()
	}

	if c.Log == nil {
		c.Log = io.Discard
	}

	if c.Port == 0 {
		c.Port = constants.ApidPort
	}

	if c.Now == nil {
		c.Now = time.Now
	}

	if c.Rand == nil {
		c.Rand = rand.Reader
	}

	if c.Installer == nil {
		c.Installer = ReleaseFromReference
	}

	if c.Faults == nil {
		c.Faults = noFaults{}
	}

	if c.OnPowerOff == nil {
		c.OnPowerOff = func(int) {}
	}

	if c.Kubernetes == nil {
		c.Kubernetes = noKubernetes{}
	}

	return c
}

type noDelay struct{}

func (noDelay) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }
