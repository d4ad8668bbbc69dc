package explain

import (
	"regexp"
	"slices"
)

// table holds what is known, the special before the general.
var table = slices.Concat(
	// Proxmox VE and its provider
	locks, machines, starts, permissions, storages, volumes, devices, passthrough, hosts, hostServices, downloads,
	// Talos and etcd
	nodes, talosAPI, talosSystem, etcdMembers, etcdTrouble,
	// what runs in the cluster
	kubernetes, objects, pods, podNetwork, releases, deliveries, gpuNodes,
	// the engine
	engine, backend, programs,
	general,
)

// Who says things.
const (
	proxmox  = "Proxmox"
	provider = "the provider"
	talos    = "Talos"
	cluster  = "Kubernetes"
	pulumi   = "the engine"
	program  = "em-infra"
	helm     = "Helm"
	flux     = "Flux"
)

// failedVerb stands in the texts of rows where the command stands that has failed.
const failedVerb = "<verb>"

// What is the same for many.
const (
	goesOn     = "yes: nothing was left half done; " + failedVerb + " goes on from here"
	upAgain    = "run `em-infra " + failedVerb + "` again"
	notTouched = "yes: nothing was changed"
)

func saying(pattern string) *regexp.Regexp { return regexp.MustCompile(pattern) }
