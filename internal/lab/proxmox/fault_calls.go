package proxmox

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/accesscontrol"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/flock"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// statusTimeout is the status of a failed connection in Proxmox VE's client (AnyEvent::HTTP).
const statusTimeout = 596

// Paths of methods at which faults occur.
const (
	listEndpoint       = "/nodes/{node}/qemu"
	vmEndpoint         = listEndpoint + "/{vmid}"
	configEndpoint     = vmEndpoint + "/config"
	cloneEndpoint      = vmEndpoint + "/clone"
	taskStatusEndpoint = "/nodes/{node}/tasks/{upid}/status"
)

// startsWorker lists the calls that start a VM's worker.
var startsWorker = []string{listEndpoint, vmEndpoint, cloneEndpoint, vmEndpoint + "/status/start"}

func anyCall(Call) bool { return true }

// callFaults occur before a call is handled, or between its work and its response.
var callFaults = slices.Concat(machineCallFaults, apiCallFaults)

// machineCallFaults occur at calls about machines and their tasks.
var machineCallFaults = []faultKind{
	{
		Kind: fault.Kind{
			Name: "config-lock-timeout", About: "changing a VM's configuration waits for its lock in vain", Source: "F18",
		},
		call:   func(c Call) bool { return c.Write() && c.Endpoint == configEndpoint },
		answer: func(c Call) error { return errors.New(flock.TimeoutText(flock.ConfigFile(c.VMID))) },
		wait:   pace.ConfigLockTimeout,
	},
	{
		Kind: fault.Kind{Name: "template-missing", About: "the source of a clone is gone", Source: "F19"},
		call: func(c Call) bool { return c.Endpoint == cloneEndpoint },
		answer: func(c Call) error {
			return fmt.Errorf("Configuration file 'nodes/%s/qemu-server/%d.conf' does not exist", c.Node, c.VMID)
		},
	},
	{
		Kind: fault.Kind{
			Name: "vmid-taken", About: "somebody else has made a VM of that number just now", Source: "F20",
		},
		call:   func(c Call) bool { return c.Creates != 0 },
		answer: vmidTaken,
	},
	{
		Kind:   fault.Kind{Name: "no-worker", About: "the host cannot start a worker", Source: "pve-common RESTEnvironment.pm"},
		call:   func(c Call) bool { return c.Write() && slices.Contains(startsWorker, c.Endpoint) },
		answer: func(Call) error { return errors.New("got no worker upid - start worker failed") },
	},
	{
		Kind: fault.Kind{
			Name: "task-lost", About: "the host does not know a task that it has started", Source: "pve-manager API2/Tasks.pm",
		},
		call:   func(c Call) bool { return c.Endpoint == taskStatusEndpoint },
		answer: func(Call) error { return schema.BadParam("upid", "no such task") },
	},
}

// apiCallFaults occur at calls of any kind, and at those about the host itself.
var apiCallFaults = []faultKind{
	{
		Kind: fault.Kind{Name: "unauthorized", About: "the token is not valid any more (401)", Source: "F13"},
		call: anyCall, wait: pace.LoginDelay,
		answer: func(Call) error {
			return &api.StatusError{Status: http.StatusUnauthorized, Message: accesscontrol.ErrAuthentication.Error(), Plain: true}
		},
	},
	{
		Kind:   fault.Kind{Name: "forbidden", About: "the token lacks the privilege that the call asks for (403)", Source: "F13"},
		call:   anyCall,
		answer: func(Call) error { return &access.Refusal{} },
	},
	{
		Kind: fault.Kind{
			Name: "unreachable", About: "the node that a request is passed on to does not answer (596)",
			Source: "pve-http-server AnyEvent.pm",
		},
		call: func(c Call) bool { return c.Node != "" }, wait: 5 * time.Second,
		answer: func(Call) error {
			return &api.StatusError{Status: statusTimeout, Message: "Connection timed out", Plain: true}
		},
	},
	{
		Kind: fault.Kind{
			Name: "storage-inactive", About: "a storage that is added cannot be activated, since its server does not answer the mount",
			Source: "pve-storage API2/Storage/Config.pm, NFSPlugin.pm",
		},
		call: func(c Call) bool { return c.Verb == http.MethodPost && c.Endpoint == "/storage" },
		answer: func(Call) error {
			return errors.New("create storage failed: mount error: mount.nfs: Connection timed out")
		},
	},
	{
		Kind: fault.Kind{Name: "answer-lost", About: "a change is made, but the connection breaks before the answer", Source: "F35"},
		call: Call.Write, lost: true,
	},
	{
		Kind: fault.Kind{
			Name: "host-reboots", About: "the power of all hosts is cut at a call, and comes back", Source: "F35", Once: true,
		},
		call:   anyCall,
		answer: func(Call) error { return api.ErrPowerCut },
	},
}

// vmidTaken returns the error of clone_vm and create_vm (qemu-server API2/Qemu.pm; pve-cluster Cluster.pm, check_cfs_vmid).
func vmidTaken(c Call) error {
	if c.Endpoint == cloneEndpoint {
		return fmt.Errorf("unable to create VM %d: config file already exists", c.Creates)
	}

	return fmt.Errorf("unable to create VM %[1]d - VM %[1]d already exists on node '%[2]s'", c.Creates, c.Node)
}
