package talos

import (
	"errors"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/talos/etcd"
)

// Names of the faults that a FaultSet knows.
const (
	FaultBootHangs          = "node-does-not-boot"
	FaultAnotherCluster     = "node-of-another-cluster"
	FaultStaysInMaintenance = "never-leaves-maintenance"
	FaultApplyHangs         = "apply-hangs"
	FaultInstallFails       = "install-fails"
	FaultCertWithheld       = "certificate-withheld"
	FaultNodeCertExpired    = "node-certificate-expired"
	FaultClientCertExpired  = "client-certificate-expired"
	FaultTimeNotInSync      = "time-not-in-sync"
	FaultBootstrapLost      = "bootstrap-answer-lost"
	FaultLearnerStuck       = "etcd-learner-stuck"
	FaultEtcdFull           = "etcd-out-of-space"
	FaultEtcdCorrupt        = "etcd-corrupt"
	FaultAPIServerLate      = "api-server-late"
	FaultAPIUnavailable     = "talos-api-unavailable"
	FaultAgentSilent        = "guest-agent-silent"
	FaultPullSlow           = "pull-slow"
	FaultImageRefused       = "image-refused"
	FaultRegistryDown       = "registry-unreachable"
	FaultPullWithoutRoom    = "pull-without-room"
	FaultEphemeralFull      = "ephemeral-full"
	FaultEtcdLocked         = "etcd-upgrade-locked"
	FaultUpgradeHangs       = "upgrade-hangs"
	FaultUpgradeFails       = "upgrade-fails"
	FaultUpgradeReverted    = "upgrade-reverted"
	FaultEventsLost         = "events-lost"
)

const machineService = "/machine.MachineService/"

// faultRow is a fault with the point at which it occurs and its effect. An empty point means every call.
type faultRow struct {
	fault.Kind

	point  string
	done   bool
	effect Effect
}

// bootFaults occur between power-on and the configuration of a node.
var bootFaults = []faultRow{
	{
		Kind:  fault.Kind{Name: FaultBootHangs, About: "a node that is switched on, or reboots, does not come up", Source: "F5"},
		point: string(StepBoot), effect: Effect{Hang: true},
	},
	{
		Kind: fault.Kind{
			Name: FaultAnotherCluster, About: "a new node's disk holds a control plane of another cluster, which boots", Source: "F7",
		},
		point: string(StepDisk), effect: Effect{Occupied: true},
	},
	{
		Kind: fault.Kind{
			Name: FaultStaysInMaintenance, About: "a node accepts its configuration and stays in maintenance mode", Source: "F7",
		},
		point: string(StepLeaveMaintenance), effect: Effect{Hang: true},
	},
	{
		Kind:  fault.Kind{Name: FaultApplyHangs, About: "applying a configuration never answers", Source: "F8"},
		point: machineService + "ApplyConfiguration", effect: Effect{Hang: true},
	},
	{
		Kind: fault.Kind{
			Name: FaultInstallFails, About: "the installer fails, and the node boots into maintenance mode again", Source: "F17",
		},
		point: string(StepInstall), effect: Effect{Err: errors.New("installer exited with code 1")},
	},
}

// clusterFaults occur when a node joins its cluster.
var clusterFaults = []faultRow{
	{
		Kind: fault.Kind{
			Name: FaultCertWithheld, About: "a node gets no certificate, so that its secure API never opens",
			Source: "talos internal/app/trustd",
		},
		// The controller of the certificates retries until it has them (controllers/secrets/api.go, generateWorker).
		point: string(StepCertificate), effect: Effect{Hang: true, Retried: 5 * time.Second},
	},
	{
		Kind: fault.Kind{
			Name: FaultNodeCertExpired, About: "a node whose clock is two days behind shows a certificate that has expired", Source: "F33",
		},
		point: string(StepSign), effect: Effect{Skew: -48 * time.Hour},
	},
	{
		Kind: fault.Kind{
			Name: FaultClientCertExpired, About: "a node takes the certificate in the talosconfig for expired, as after two years",
			Source: "F33",
		},
		point: string(StepHandshake), effect: Effect{Skew: 2 * 365 * 24 * time.Hour},
	},
	{
		Kind: fault.Kind{
			Name: FaultTimeNotInSync, About: "bootstrap is refused because the node's clock is not set", Source: "talos v1alpha1_server.go",
		},
		point: machineService + "Bootstrap", effect: Effect{Err: status.Error(codes.FailedPrecondition, "time is not in sync yet")},
	},
	{
		Kind: fault.Kind{
			Name: FaultBootstrapLost, About: "bootstrap happens, but the connection breaks before the answer", Source: "F6",
		},
		point: machineService + "Bootstrap", done: true, effect: Effect{Cut: true},
	},
	{
		Kind: fault.Kind{Name: FaultLearnerStuck, About: "an etcd member that joins stays a learner", Source: "F27"},
		// Every 15 s for ten minutes (services/etcd.go, promoteMember).
		point: string(StepEtcdPromote), effect: Effect{Hang: true, Retried: 15 * time.Second, Attempts: 40},
	},
	{
		Kind: fault.Kind{
			Name: FaultEtcdFull, About: "the database of an etcd member reaches its quota, most of it free pages, and etcd takes no writes",
			Source: "etcd quota.go",
		},
		point: string(StepEtcdData), effect: Effect{Alarm: etcd.NoSpace},
	},
	{
		Kind: fault.Kind{
			Name: FaultEtcdCorrupt, About: "the data of an etcd member differ from those of the others, and etcd answers nothing",
			Source: "etcd corrupt.go",
		},
		point: string(StepEtcdData), effect: Effect{Alarm: etcd.Corrupt},
	},
	{
		Kind: fault.Kind{
			Name: FaultAPIServerLate, About: "a control plane's kube-apiserver starts two minutes after its etcd",
			Source: "talos control_plane_static_pod.go",
		},
		point: string(StepStaticPods), effect: Effect{Late: 2 * time.Minute},
	},
	{
		Kind:   fault.Kind{Name: FaultAPIUnavailable, About: "every call of a node's Talos API fails", Source: "F7"},
		effect: Effect{Err: status.Error(codes.Unavailable, "the node does not answer")},
	},
	{
		Kind: fault.Kind{
			Name: FaultAgentSilent, About: "a node's guest agent does not answer its host", Source: "F10",
		},
		point: string(StepGuestAgent), effect: Effect{Hang: true},
	},
}

// upgradeFaults occur between the order to upgrade a node and the first boot of its new release.
var upgradeFaults = []faultRow{
	{
		Kind: fault.Kind{
			Name: FaultPullSlow, About: "the installer image of an upgrade takes four minutes more to download", Source: "talos pull.go",
		},
		point: string(StepPull), effect: Effect{Late: 4 * time.Minute},
	},
	{
		Kind: fault.Kind{
			Name: FaultImageRefused, About: "the registry refuses the installer image of an upgrade, as for an extension that the release lacks",
			Source: "talos image.go",
		},
		point: string(StepPull),
		effect: Effect{Err: errors.New("failed to resolve image: unexpected status from HEAD request to " +
			"https://factory.talos.dev/v2/nocloud-installer/SCHEMATIC/manifests/VERSION: 400 Bad Request")},
	},
	{
		Kind: fault.Kind{
			Name: FaultRegistryDown, About: "a node does not reach the registry of the installer image", Source: "talos pull.go",
		},
		point: string(StepPull),
		effect: Effect{Err: errors.New("failed to resolve image: failed to do request: Head " +
			`"https://factory.talos.dev/v2/nocloud-installer/SCHEMATIC/manifests/VERSION": dial tcp 192.0.2.1:443: connect: connection refused`)},
	},
	{
		Kind: fault.Kind{
			Name: FaultPullWithoutRoom, About: "an installer image that is pulled does not fit, and Talos tries again and again",
			Source: "talos image.go",
		},
		point: string(StepPull),
		effect: Effect{Err: errors.New("failed to extract layer sha256:0b1a7d1c9f63: write " +
			"/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/42/fs/usr/install/amd64/vmlinuz.efi: no space left on device")},
	},
	{
		Kind: fault.Kind{
			Name: FaultEphemeralFull, About: "a node has little room left on EPHEMERAL, its disk for images and pods",
			Source: "talos v1alpha1_server.go, Mounts",
		},
		point: string(StepRoom), effect: Effect{Full: true},
	},
	{
		Kind: fault.Kind{
			Name: FaultEtcdLocked, About: "a control plane is not upgraded, because another one holds the lock of upgrades in etcd",
			Source: "talos v1alpha1_server.go",
		},
		// the lock is talos:etcdUpgradeMutex; the text is that of go.etcd.io/etcd/client/v3/concurrency
		point: string(StepEtcdLock), effect: Effect{Err: errors.New("mutex: Locked by another session")},
	},
	{
		Kind: fault.Kind{
			Name: FaultUpgradeHangs, About: "a node that is upgraded hangs while it stops, at a mount of a pod", Source: "talos #12964",
		},
		point: string(StepUnmount), effect: Effect{Hang: true},
	},
	{
		Kind: fault.Kind{
			Name: FaultUpgradeFails, About: "the installer of an upgrade fails, and the node reboots into the release that it had",
			Source: "talos install.go",
		},
		point: string(StepUpgrade), effect: Effect{Err: errInstaller},
	},
	{
		Kind: fault.Kind{
			Name: FaultUpgradeReverted, About: "the first boot of another release fails, and the node comes back with the one before",
			Source: "talos revert.go",
		},
		point: string(StepTry), effect: Effect{Err: errors.New("failed to load the machine configuration")},
	},
	{
		Kind: fault.Kind{
			Name: FaultEventsLost, About: "a stream of a node's events stays open and brings none", Source: "talos #14242",
		},
		point: machineService + "Events", effect: Effect{Hang: true},
	},
}

// isCall reports whether a point is a gRPC method, not a step.
func isCall(point string) bool { return strings.HasPrefix(point, "/") }

func (row faultRow) occurs(p Point) bool {
	return row.done == p.Done && (row.point == p.Name || row.point == "" && isCall(p.Name))
}
