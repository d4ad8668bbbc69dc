# The cluster of ../cluster.yaml in Terraform's resources, with the code of the same providers: what BenchmarkRace runs beside em-infra.

terraform {
  required_providers {
    proxmox = { source = "bpg/proxmox" }
    talos   = { source = "siderolabs/talos" }
  }
}

variable "lab" {
  description = "How the lab is reached."
  sensitive   = true
  type        = object({ proxmox = string, factory = string, token = string })
}

variable "network" {
  description = "Of the nodes, on loopback."
  type        = object({ cidr = string, gateway = string, vip = string })
}

variable "nodes" {
  description = "By name."
  type        = map(object({ vmid = number, address = string, control_plane = bool }))
}

locals {
  talos      = "v1.12.4"
  contract   = "v1.12"
  kubernetes = "v1.35.4"
  endpoint   = "https://${var.network.vip}:6443"
  bits       = split("/", var.network.cidr)[1]
  factory    = nonsensitive(var.lab.factory)
  macs = { for name, node in var.nodes : name => format("BC:24:11:00:%02X:%02X", floor(node.vmid / 256), node.vmid % 256) }
  # Terraform wants one control plane that is known beforehand.
  first = sort([for node in var.nodes : node.address if node.control_plane])[0]
}

provider "proxmox" {
  endpoint  = "https://${var.lab.proxmox}"
  api_token = var.lab.token
  insecure  = true
}

provider "talos" {
  image_factory_url = "http://${local.factory}"
}

resource "talos_image_factory_schematic" "plain" {
  schematic = yamlencode({ customization = {} })
}

resource "proxmox_virtual_environment_download_file" "iso" {
  node_name    = "vmhost"
  datastore_id = "local"
  content_type = "iso"
  file_name    = "talos-${local.talos}-nocloud-${substr(talos_image_factory_schematic.plain.id, 0, 16)}-amd64.iso"
  url          = "http://${local.factory}/image/${talos_image_factory_schematic.plain.id}/${local.talos}/nocloud-amd64.iso"
}

resource "proxmox_virtual_environment_vm" "template" {
  name          = "talos"
  node_name     = "vmhost"
  vm_id         = 9000
  template      = true
  started       = false
  machine       = "q35"
  bios          = "ovmf"
  scsi_hardware = "virtio-scsi-single"
  boot_order    = ["scsi0", "ide0"]

  operating_system { type = "l26" }
  memory { dedicated = 2048 }
  network_device { bridge = "vmbr0" }
  cdrom {
    interface = "ide0"
    file_id   = proxmox_virtual_environment_download_file.iso.id
  }
  efi_disk {
    datastore_id = "tank"
    type         = "4m"
  }
  disk {
    interface    = "scsi0"
    datastore_id = "tank"
    file_format  = "raw"
    size         = 1
  }
}

resource "proxmox_virtual_environment_vm" "node" {
  for_each        = var.nodes
  name            = each.key
  node_name       = "vmhost"
  vm_id           = each.value.vmid
  bios            = "ovmf"
  scsi_hardware   = "virtio-scsi-single"
  boot_order      = ["scsi0", "ide0"]
  stop_on_destroy = true

  clone {
    vm_id        = proxmox_virtual_environment_vm.template.vm_id
    datastore_id = "tank"
    retries      = 3
  }
  operating_system { type = "l26" }
  cpu {
    type  = "x86-64-v2-AES"
    cores = 4
  }
  memory { dedicated = 8192 }
  network_device {
    bridge      = "vmbr0"
    vlan_id     = 20
    mac_address = local.macs[each.key]
  }
  cdrom {
    interface = "ide0"
    file_id   = proxmox_virtual_environment_download_file.iso.id
  }
  disk {
    interface    = "scsi0"
    datastore_id = "tank"
    file_format  = "raw"
    size         = each.value.control_plane ? 64 : 128
  }
  initialization {
    type         = "nocloud"
    datastore_id = "tank"
    interface    = "ide2"
    dns { servers = [var.network.gateway] }
    ip_config {
      ipv4 {
        address = "${each.value.address}/${local.bits}"
        gateway = var.network.gateway
      }
    }
  }
}

resource "talos_machine_secrets" "cluster" {
  talos_version = local.contract
}

data "talos_machine_configuration" "node" {
  for_each           = var.nodes
  cluster_name       = "k3s-dev"
  cluster_endpoint   = local.endpoint
  machine_type       = each.value.control_plane ? "controlplane" : "worker"
  machine_secrets    = talos_machine_secrets.cluster.machine_secrets
  talos_version      = local.contract
  kubernetes_version = local.kubernetes
  docs               = false
  examples           = false
  # A list whose length is known is refused where one of its texts is not known yet.
  config_patches = concat([
    yamlencode({ apiVersion = "v1alpha1", kind = "HostnameConfig", auto = "off", hostname = each.key }),
    yamlencode({ machine = {
      install = {
        disk  = "/dev/sda"
        image = "${local.factory}/nocloud-installer/${talos_image_factory_schematic.plain.id}:${local.talos}"
      }
      kubelet = { nodeIP = { validSubnets = [var.network.cidr, "!${var.network.vip}/32"] } }
      network = {
        nameservers = [var.network.gateway]
        interfaces = [{
          deviceSelector = { hardwareAddr = lower(local.macs[each.key]) }
          addresses      = ["${each.value.address}/${local.bits}"]
          routes         = [{ network = "0.0.0.0/0", gateway = var.network.gateway }]
        }]
      }
    } }),
    ], each.value.control_plane ? [
    yamlencode({ machine = { network = { interfaces = [{
      deviceSelector = { hardwareAddr = lower(local.macs[each.key]) }
      vip            = { ip = var.network.vip }
    }] } } }),
  ] : [])
}

resource "talos_machine_configuration_apply" "node" {
  for_each                    = var.nodes
  node                        = each.value.address
  endpoint                    = each.value.address
  client_configuration        = talos_machine_secrets.cluster.client_configuration
  machine_configuration_input = data.talos_machine_configuration.node[each.key].machine_configuration
}

resource "talos_machine_bootstrap" "cluster" {
  node                 = local.first
  endpoint             = local.first
  client_configuration = talos_machine_secrets.cluster.client_configuration
  depends_on           = [talos_machine_configuration_apply.node]
}

resource "talos_cluster_kubeconfig" "cluster" {
  node                 = local.first
  endpoint             = local.first
  client_configuration = talos_machine_secrets.cluster.client_configuration
  depends_on           = [talos_machine_bootstrap.cluster]
}

output "kubeconfig" {
  value     = talos_cluster_kubeconfig.cluster.kubeconfig_raw
  sensitive = true
}
