// Package talos emulates the Talos Linux nodes of a lab: machines that boot when their VM starts, wait in maintenance mode
// for a configuration, install, reboot, and open the secure API under their cluster's own PKI.
//
// Configuration parsing and validation, PKI, gRPC, access control and kubeconfig generation are Talos' own code. Kernel,
// disks and container runtime are emulated and take the times of Durations. Facts come from Talos v1.12.0; comments name the
// file, relative to that module.
package talos

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"io"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/constants"
)

// Pacer scales the lab's delays.
type Pacer interface {
	// Sleep waits for the scaled duration d. It returns the context's error when the context ends first.
	Sleep(ctx context.Context, d time.Duration) error
}

// Config configures a fleet. Only StateDir has no default.
type Config struct {
	// StateDir is the directory of the persistent state: machines, disk contents, etcd memberships. It holds machine
	// configurations, so only the owner can read it and its files.
	StateDir string
	// Pace scales the delays; nil means no delays.
	Pace Pacer
	// Durations are the delays before scaling; the zero value means AssumedDurations.
	Durations Durations
	// Log receives one JSON object per line for every call and every step of a machine's life, never a secret; nil discards
	// them.
	Log io.Writer
	// Port of the Talos API on every node; 0 means 50000 (machinery constants.ApidPort). Clients append it themselves.
	Port uint16
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Rand is the source of boot and node IDs; nil means crypto/rand.
	Rand io.Reader
	// Seed determines the order in which a machine discovers its disks.
	Seed [sha256.Size]byte
	// Installer returns the Talos release of an installer image or a boot ISO; nil means ReleaseFromReference. An error makes
	// the installation or upgrade fail, like an image that cannot be pulled.
	Installer func(ref string) (Release, error)
	// Faults decides what fails; nil means no faults.
	Faults Faults
	// OnPowerOff is called for every machine that switches itself off, after an API call or the power button, but not for
	// PowerOff. It may call the fleet.
	OnPowerOff func(vmid int)
	// Kubernetes is notified of what the nodes run for Kubernetes; nil means none.
	Kubernetes Kubernetes
}

// Durations of the steps of a machine's life.
type Durations struct {
	// Boot is the time from power-on to maintenance mode, including firmware, kernel and network.
	Boot time.Duration
	// Install is the time from the accepted configuration to the reboot: pulling the installer image and writing the disk.
	Install time.Duration
	// Pull is the part of Install that pulls the image. An upgrade pulls it before Talos answers the call.
	Pull time.Duration
	// Reboot is the time from the end of one boot to the Talos API of the next.
	Reboot time.Duration
	// Services is the time from the Talos API to the container runtime. Bootstrap is refused before.
	Services time.Duration
	// EtcdBootstrap is the time from the bootstrap call to a healthy etcd: pulling the image and the first start.
	EtcdBootstrap time.Duration
	// EtcdJoin is the time of each step of another member: start as learner, promotion.
	EtcdJoin time.Duration
	// Image is the time to pull an image of Kubernetes, about 100 MB.
	Image time.Duration
	// Kubelet is the time to start the kubelet, once its image is there.
	Kubelet time.Duration
	// Stop is the time to stop all services before a reboot or power-off.
	Stop time.Duration
	// Failure is the delay of the reboot after a failed boot (internal/app/machined/main.go: 10 s).
	Failure time.Duration
	// Affiliate is how long a lost node stays known to its cluster (discovery_service.go: 30 min).
	Affiliate time.Duration
}

// AssumedDurations returns the durations of a small server with local SSDs. Values without a source are assumptions.
func AssumedDurations() Durations {
	return Durations{
		Boot:          18 * time.Second,
		Install:       25 * time.Second,
		Pull:          10 * time.Second,
		Reboot:        20 * time.Second,
		Services:      3 * time.Second,
		EtcdBootstrap: 12 * time.Second,
		EtcdJoin:      6 * time.Second,
		Image:         8 * time.Second,
		Kubelet:       3 * time.Second,
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
