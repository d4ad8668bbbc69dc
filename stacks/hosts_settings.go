package stacks

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// HostSettings returns the settings of hosts that an inventory wants, as the operations on hosts read them, with the logical names of their
// resources.
func HostSettings(inv *hosts.Inventory) (wanted []hostspec.HostSettings, names []string) {
	for _, host := range inv.File.Hosts {
		if settings := hostSettings(host); !settings.Spec().IsEmpty() {
			wanted, names = append(wanted, settings.Spec()), append(names, components.HostSettingsName(inv.File.Name, host.Name))
		}
	}
	return wanted, names
}

// HostOptions returns the options of the cluster that an inventory wants, and the logical name of their resource.
func HostOptions(inv *hosts.Inventory) (wanted hostspec.Options, name string) {
	for _, option := range hostOptions(inv.File.Options) {
		wanted = append(wanted, hostspec.Setting(option))
	}
	return wanted, components.HostOptionsName(inv.File.Name)
}

// HostDefinitions returns the metric servers and backup jobs that an inventory wants, without secrets, with the logical names of their resources.
func HostDefinitions(inv *hosts.Inventory) (wanted []hostspec.Definition, names []string) {
	for _, server := range hostMetricServers(inv) {
		wanted = append(wanted, server.Spec())
	}
	for _, job := range hostBackupJobs(inv) {
		wanted = append(wanted, job.Spec())
	}
	for _, one := range wanted {
		names = append(names, components.HostDefinitionName(inv.File.Name, one))
	}
	return wanted, names
}

func hostSettings(host hosts.Host) components.HostSettings {
	settings := components.HostSettings{Host: host.Name, TimeZone: host.TimeZone}
	for _, line := range host.Names {
		settings.Names = append(settings.Names, components.HostNames(line))
	}
	for _, repository := range host.Repositories {
		settings.Repositories = append(settings.Repositories, components.HostRepository(repository))
	}
	return settings
}

// hostOptions returns the options that are given, by their names in Proxmox VE (pve-cluster, PVE/DataCenterConfig.pm).
func hostOptions(given hosts.Options) []components.HostOption {
	options := []components.HostOption{
		{Name: "keyboard", Value: string(given.Keyboard)}, {Name: "console", Value: string(given.Console)},
		{Name: "email_from", Value: given.EmailFrom}, {Name: "http_proxy", Value: given.HTTPProxy}, {Name: "mac_prefix", Value: strings.ToUpper(given.MACPrefix)},
		{Name: "max_workers", Value: number(given.MaxWorkers)},
	}
	if m := given.Migration; m != nil {
		options = append(options, components.HostOption{Name: "migration", Value: properties("type", string(m.Type), "network", network(m.Network))})
	}
	if policy := string(given.HAShutdownPolicy); policy != "" {
		options = append(options, components.HostOption{Name: "ha", Value: properties("shutdown_policy", policy)})
	}
	if next := given.NextVMID; next != nil {
		options = append(options, components.HostOption{Name: "next-id", Value: properties("lower", number(next.Lower), "upper", number(next.Upper))})
	}
	if limits := given.BandwidthLimits; limits != nil {
		options = append(options, components.HostOption{Name: "bwlimit", Value: properties(
			"clone", limit(limits.Clone), "default", limit(limits.Default), "migration", limit(limits.Migration), "move", limit(limits.Move),
			"restore", limit(limits.Restore))})
	}
	return withValues(options)
}

func hostMetricServers(inv *hosts.Inventory) []components.HostMetricServer {
	var servers []components.HostMetricServer
	for _, m := range inv.File.MetricServers {
		settings := []components.HostOption{
			{Name: "server", Value: m.Server}, {Name: "port", Value: number(m.Port)}, {Name: "disable", Value: flag(!m.Enabled)},
		}
		switch m.Type {
		case hosts.MetricsGraphite:
			settings = append(settings, withValues([]components.HostOption{{Name: "proto", Value: string(m.Protocol)}, {Name: "path", Value: m.Path}})...)
		case hosts.MetricsInfluxDB:
			settings = append(settings, withValues([]components.HostOption{
				{Name: "influxdbproto", Value: string(m.Protocol)}, {Name: "organization", Value: m.Organization}, {Name: "bucket", Value: m.Bucket},
			})...)
			if m.Protocol == hosts.MetricsHTTPS {
				settings = append(settings, components.HostOption{Name: "verify-certificate", Value: flag(m.VerifyCertificate)})
			}
		case hosts.MetricsOpenTelemetry:
			settings = append(settings, withValues([]components.HostOption{
				{Name: "otel-protocol", Value: string(m.Protocol)}, {Name: "otel-path", Value: m.Path}, {Name: "otel-verify-ssl", Value: flag(m.VerifyCertificate)},
			})...)
		}
		servers = append(servers, components.HostMetricServer{Name: m.Name, Type: string(m.Type), Settings: settings})
	}
	return servers
}

// hostBackupJobs maps the backup jobs. If pool, VMIDs or exceptions are not given, they have no value, so that they are removed from a job that has
// another selection.
func hostBackupJobs(inv *hosts.Inventory) []components.HostBackupJob {
	var jobs []components.HostBackupJob
	for _, b := range inv.File.BackupJobs {
		settings := []components.HostOption{
			{Name: "schedule", Value: b.Schedule}, {Name: "storage", Value: b.Storage}, {Name: "mode", Value: string(b.Mode)},
			{Name: "compress", Value: compression(b.Compression)}, {Name: "enabled", Value: flag(b.Enabled)},
			{Name: "pool", Value: b.Pool}, {Name: "vmid", Value: numbers(b.VMIDs)}, {Name: "exclude", Value: numbers(b.Exclude)},
		}
		settings = append(settings, withValues([]components.HostOption{
			{Name: "node", Value: b.Host}, {Name: "comment", Value: b.Comment}, {Name: "prune-backups", Value: keep(b.Keep)},
		})...)
		if b.All {
			settings = append(settings, components.HostOption{Name: "all", Value: "1"})
		}
		jobs = append(jobs, components.HostBackupJob{Name: b.Name, Settings: settings})
	}
	return jobs
}

func compression(c hosts.Compression) string {
	if c == hosts.CompressionNone {
		return "0" // pve-manager, PVE/VZDump/Common.pm, compress
	}
	return string(c)
}

func keep(k *hosts.Keep) string {
	if k == nil {
		return ""
	}
	return properties("keep-last", number(k.Last), "keep-hourly", number(k.Hourly), "keep-daily", number(k.Daily), "keep-weekly", number(k.Weekly),
		"keep-monthly", number(k.Monthly), "keep-yearly", number(k.Yearly))
}

// properties returns NAME=VALUE,… of pairs, without those that have no value.
func properties(pairs ...string) string {
	var given []string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			given = append(given, pairs[i]+"="+pairs[i+1])
		}
	}
	return strings.Join(given, ",")
}

// number returns a number as a text; 0 is not given.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func numbers(list []int) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

func limit(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

func network(prefix netip.Prefix) string {
	if !prefix.IsValid() {
		return ""
	}
	return prefix.String()
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

func withValues(options []components.HostOption) []components.HostOption {
	var given []components.HostOption
	for _, option := range options {
		if option.Value != "" {
			given = append(given, option)
		}
	}
	return given
}
