package talos

import (
	"time"

	"github.com/em-infra/em-infra/internal/lab/talos/etcd"
)

// Faults decides what fails. It is called for every call of the Talos API and every step of a machine's life.
type Faults interface {
	// At returns the effect at a point; the zero Effect for none.
	At(Point) Effect
}

// Point is a place where a fault can occur.
type Point struct {
	VMID int
	// Name is the full gRPC method of a call, or a Step.
	Name string
	// Done is false before the call or step, and true after it, before its result is returned.
	Done bool
}

// Effect is what happens at a point.
type Effect struct {
	// Err makes the call or step fail. A gRPC status reaches the client unchanged.
	Err error
	// Hang blocks the call or step until its context ends.
	Hang bool
	// Retried is the interval, before scaling, at which the node itself retries a step that hangs, so that it continues when
	// the fault is cleared. 0 means never.
	Retried time.Duration
	// Attempts limits these retries. 0 means no limit.
	Attempts int
	// Cut closes the connection of the call without an answer.
	Cut bool
	// Late is the additional duration of a step, before scaling.
	Late time.Duration
	// Skew is the error of the node's clock when the step reads it.
	Skew time.Duration
	// Full leaves little room on EPHEMERAL.
	Full bool
	// Alarm is what the etcd member on the node finds out about its database. Default: "", nothing.
	Alarm etcd.AlarmKind
	// Occupied puts a node of another cluster on a blank disk.
	Occupied bool
}

// Step is the name of a step of a machine's life in the log and in faults.
type Step string

// Steps of a machine's life.
const (
	StepBoot             Step = "boot"
	StepDisk             Step = "disk"
	StepLeaveMaintenance Step = "leave-maintenance"
	// StepGuestAgent is a call of QEMU's guest agent.
	StepGuestAgent Step = "guest-agent"
	// StepHalt is a boot from the ISO that stops because Talos is installed on a disk.
	StepHalt        Step = "halt"
	StepListen      Step = "listen"
	StepInstall     Step = "install"
	StepCertificate Step = "certificate"
	StepSign        Step = "sign"
	StepHandshake   Step = "handshake"
	StepServices    Step = "services"
	StepEtcdStart   Step = "etcd-start"
	StepEtcdPromote Step = "etcd-promote"
	StepStaticPods  Step = "static-pods"
	StepStop        Step = "stop"
	// StepKubelet is a start of the kubelet after a change of what it is started with, StepImage a pull of one of Kubernetes' images.
	StepKubelet Step = "kubelet"
	StepImage   Step = "image"
	// StepPull is one attempt to download an installer image for an upgrade, StepUpgrade its run.
	StepPull    Step = "pull"
	StepUpgrade Step = "upgrade"
	// StepRoom is a look at how much of EPHEMERAL is free.
	StepRoom Step = "room"
	// StepEtcdData is a look of an etcd member at its database.
	StepEtcdData Step = "etcd-data"
	// StepEtcdLock is the lock of etcd for the checks before an upgrade of a control plane.
	StepEtcdLock Step = "etcd-lock"
	// StepUnmount is the end of the mounts of pods in an upgrade.
	StepUnmount Step = "unmount"
	// StepTry is the first boot of another release.
	StepTry     Step = "try"
	StepFailure Step = "failure"
	StepOff     Step = "off"
)

type noFaults struct{}

func (noFaults) At(Point) Effect { return Effect{} }
