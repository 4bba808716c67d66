/* One of the libraries that the plugin needs, built with -DPART=part_N. */
int PART(int n);

int PART(int n)
{
	volatile int sum = 0;

	for (int i = 0; i < 1000; i++)
		sum += i * n % 7;
	return sum;
}
