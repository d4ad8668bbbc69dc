package explain

import (
	"regexp"
	"slices"
	"sync"
)

// table contains the known errors, specific ones before general ones.
var table = slices.Concat(
	// what a node says about its image, which quotes a registry
	images,
	// what the cluster says about its own snapshots
	clusterBackups,
	// the bucket with the backups
	buckets,
	// Proxmox VE and its provider
	locks, machines, starts, permissions, storages, volumes, devices, passthrough, hosts, hostServices, downloads,
	// Talos and etcd
	versionRules, upgrades, nodes, talosAPI, talosSystem, etcdMembers, etcdTrouble, etcdRestore, etcdAlarms,
	// what runs in the cluster
	kubernetes, objects, pods, podNetwork, releases, deliveries, gpuNodes,
	// the engine
	engine, backend, plans, pipelines, ownSecrets, adoptions, kits, credentials, programs,
	general,
)

// The programs that report errors.
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

// failedVerb is a placeholder in the texts of rows for the command that has failed.
const failedVerb = "<verb>"

// Texts of several rows.
const (
	goesOn     = "yes: nothing was left half done; " + failedVerb + " goes on from here"
	upAgain    = "run `em-infra " + failedVerb + "` again"
	notTouched = "yes: nothing was changed"
)

// saying returns a pattern that is compiled when it is first used: all of them take 30 ms, and every command of em-infra would pay that.
func saying(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
