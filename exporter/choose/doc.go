// Package choose keeps a part of profiles: the stacks that have a function, a
// process or a thread of some name, or only their frames of the kernel or of
// programs. What it leaves out is counted in the profiles themselves, so that
// nothing vanishes silently.
package choose
