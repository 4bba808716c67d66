/*
 * The plugin: a page that is made with the help of seven libraries. The dynamic
 * loader looks for each of them along the search path.
 */
#include <stddef.h>
#include <stdio.h>

int part_1(int), part_2(int), part_3(int), part_4(int), part_5(int), part_6(int), part_7(int);

int render(char *page, size_t size)
{
	int sum = part_1(1) + part_2(2) + part_3(3) + part_4(4) + part_5(5) + part_6(6) + part_7(7);

	return snprintf(page, size, "the answer is %d\n", sum);
}
