// Package systemsnapshots decides which systems get a snapshot before a run changes them, which changes Proxmox VE refuses because of
// snapshots, and which snapshots of earlier runs are removed. It only reads the host.
package systemsnapshots
