// Package process keeps what is known of the processes of this host: which
// files they have mapped, and since when; what they are called; to which
// container and service they belong.
//
// Knowledge comes from the events of the kernel when something happens, and
// from procfs for what was there before. A process is named by PID and start
// time, so a PID that is used again is another process. What a process had
// mapped is kept by time: a sample is resolved with the mappings of the moment
// when it was taken, also after an exec, and also after the process has ended.
package process
