// Package hostspec has the form in which a stack passes what a host is to have to the operations of em-infra on hosts: storages and network
// interfaces, each with the parameters of the API of Proxmox VE. Pure.
package hostspec
