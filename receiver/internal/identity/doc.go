// Package identity works out to which container and which service a process
// belongs, from texts that the kernel gives of it. It opens no files. All input
// is hostile: a process chooses its environment, and whoever may make a cgroup
// chooses its name.
package identity
