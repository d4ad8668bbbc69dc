package pve

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"time"
)

// Node is a host of the Proxmox VE cluster.
type Node struct {
	Name string `json:"node"`
	// Status is online, offline or unknown.
	Status string `json:"status"`
}

// Nodes returns the hosts of the cluster.
func (r Reader) Nodes(ctx context.Context) (nodes []Node, err error) {
	return nodes, r.get(ctx, &nodes, "/nodes")
}

// Capacity is the capacity of a host.
type Capacity struct {
	Threads     int
	MemoryBytes uint64
}

// Capacity returns the capacity of a host.
func (r Reader) Capacity(ctx context.Context, node string) (Capacity, error) {
	var answer struct {
		CPUInfo struct {
			CPUs int `json:"cpus"`
		} `json:"cpuinfo"`
		Memory struct {
			Total uint64 `json:"total"`
		} `json:"memory"`
	}
	err := r.get(ctx, &answer, nodePath(node, "status"))
	return Capacity{Threads: answer.CPUInfo.CPUs, MemoryBytes: answer.Memory.Total}, err
}

// Time returns the time on a host, in whole seconds.
func (r Reader) Time(ctx context.Context, node string) (time.Time, error) {
	var answer struct {
		Time int64 `json:"time"`
	}
	err := r.get(ctx, &answer, nodePath(node, "time"))
	return time.Unix(answer.Time, 0), err
}

// Storage is a storage on one host.
type Storage struct {
	Name string `json:"storage"`
	// Type is its kind, e.g. dir or lvmthin.
	Type string `json:"type"`
	// Content are its configured content types, e.g. images,iso.
	Content string `json:"content"`
	// Active is false when the host cannot reach it.
	Active Flag `json:"active"`
	Shared Flag `json:"shared"`
	// AvailableBytes is the free space.
	AvailableBytes uint64 `json:"avail"`
}

// Storages returns the storages of a host that the token may see.
func (r Reader) Storages(ctx context.Context, node string) (storages []Storage, err error) {
	return storages, r.get(ctx, &storages, nodePath(node, "storage"), "enabled", "1")
}

// Bridge is an attachment point of a VM's network card: a Linux or Open vSwitch bridge, or a virtual network.
type Bridge struct {
	Name string `json:"iface"`
	// Type is bridge, OVSBridge or vnet.
	Type string `json:"type"`
	// VLANAware is true for a Linux bridge that supports tagged cards itself.
	VLANAware Flag `json:"bridge_vlan_aware"`
	// Ports of a Linux bridge.
	Ports string `json:"bridge_ports"`
	// MTU in bytes, if it is configured; without it a bridge has the MTU of its ports.
	MTU json.Number `json:"mtu"`
	// CIDR is the host's own IPv4 address on it with the length of its network, and Gateway its default route; empty without one.
	CIDR    string `json:"cidr"`
	Gateway string `json:"gateway"`
}

// Bridges returns the bridges of a host that the token may use.
func (r Reader) Bridges(ctx context.Context, node string) (bridges []Bridge, err error) {
	return bridges, r.get(ctx, &bridges, nodePath(node, "network"), "type", "any_bridge")
}

// unreachedText is the status with which the host's client reports an unreachable server (LWP::Protocol::http).
var unreachedText = regexp.MustCompile(`500 Can't connect to [^(']*\(?([^')]*)`)

// Reaches checks whether a host reaches a server. The error is the reason why it does not; any response, even a failure, counts
// as reached.
func (r Reader) Reaches(ctx context.Context, node, location string) error {
	var answer struct{}
	err := r.get(ctx, &answer, nodePath(node, "query-url-metadata"), "url", location)
	if err == nil || !strings.Contains(err.Error(), "invalid server response") {
		return err
	}
	if reason := unreachedText.FindStringSubmatch(err.Error()); reason != nil {
		return errors.New(reason[1])
	}
	return nil
}
