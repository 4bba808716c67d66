/* A library. */
int tiny(int n)
{
	return n + 1;
}
int small(int n)
{
	return n * n;
}
