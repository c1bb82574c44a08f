/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <pthread.h>
#include <string.h>

#include "pair.h"

struct pair {
	pthread_mutex_t lock; /* recursive; the two sides below are under it */
	char name[PAIR_NAME_MAX]; /* empty: free; under registry_lock, as are the flags */
	bool has_device;
	bool has_driver;
	const struct pair_dev_ops *ops; /* NULL: no device */
	void *dev_arg;
	void (*notify)(void *arg, uint32_t events); /* NULL: no driver */
	void *drv_arg;
};

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t registry_once = PTHREAD_ONCE_INIT;
static struct pair registry[PAIR_MAX];
static int (*maker)(const char *name);

static void
registry_init(void)
{
	pthread_mutexattr_t attr;
	unsigned int i;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	for (i = 0; i < PAIR_MAX; i++)
		pthread_mutex_init(&registry[i].lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

/* The pair of that name, or a free one that gets it. Under registry_lock. */
static int
find_or_name(const char *name, struct pair **p)
{
	struct pair *free_one = NULL;
	size_t len = strlen(name);
	unsigned int i;

	if (len == 0 || len >= PAIR_NAME_MAX)
		return -EINVAL;
	for (i = 0; i < PAIR_MAX; i++) {
		if (strcmp(registry[i].name, name) == 0) {
			*p = &registry[i];
			return 0;
		}
		if (registry[i].name[0] == '\0' && free_one == NULL)
			free_one = &registry[i];
	}
	if (free_one == NULL)
		return -ENOSPC;
	memcpy(free_one->name, name, len + 1);
	*p = free_one;
	return 0;
}

/* Under registry_lock. */
static void
free_if_unused(struct pair *p)
{
	if (!p->has_device && !p->has_driver)
		p->name[0] = '\0';
}

void
pair_notify(struct pair *p, uint32_t events)
{
	pthread_mutex_lock(&p->lock);
	if (p->notify != NULL)
		p->notify(p->drv_arg, events);
	pthread_mutex_unlock(&p->lock);
}

int
pair_offer(const char *name, const struct pair_dev_ops *ops, void *arg, struct pair **p)
{
	int ret;

	pthread_once(&registry_once, registry_init);
	pthread_mutex_lock(&registry_lock);
	ret = find_or_name(name, p);
	if (ret == 0 && (*p)->has_device)
		ret = -EEXIST;
	if (ret == 0)
		(*p)->has_device = true;
	pthread_mutex_unlock(&registry_lock);
	if (ret < 0)
		return ret;
	pthread_mutex_lock(&(*p)->lock);
	(*p)->ops = ops;
	(*p)->dev_arg = arg;
	pthread_mutex_unlock(&(*p)->lock);
	pair_notify(*p, PAIR_EV_COME);
	return 0;
}

void
pair_withdraw(struct pair *p)
{
	pthread_mutex_lock(&p->lock);
	p->ops = NULL;
	p->dev_arg = NULL;
	pthread_mutex_unlock(&p->lock);
	pair_notify(p, PAIR_EV_GONE);
	pthread_mutex_lock(&registry_lock);
	p->has_device = false;
	free_if_unused(p);
	pthread_mutex_unlock(&registry_lock);
}

/* @return 0 when a device may have come, so that looking again makes sense. */
static int
ask_maker(const char *name)
{
	return maker == NULL ? -ENOENT : maker(name);
}

/* Take the driver's place. */
static int
claim(const char *name, bool wait, struct pair **p)
{
	int ret;

	pthread_mutex_lock(&registry_lock);
	ret = find_or_name(name, p);
	if (ret == 0 && (*p)->has_driver)
		ret = -EBUSY;
	else if (ret == 0 && !(*p)->has_device && !wait)
		ret = -ENOENT;
	if (ret == 0)
		(*p)->has_driver = true;
	else if (ret == -ENOENT)
		free_if_unused(*p);
	pthread_mutex_unlock(&registry_lock);
	return ret;
}

int
pair_join(const char *name, bool wait, void (*notify)(void *arg, uint32_t events), void *arg,
	  struct pair **p)
{
	int ret;

	pthread_once(&registry_once, registry_init);
	ret = claim(name, false, p);
	if (ret == -ENOENT) {
		ret = ask_maker(name);
		if (ret == 0 || ret == -EEXIST || wait)
			ret = claim(name, wait, p);
	}
	if (ret < 0)
		return ret;
	pthread_mutex_lock(&(*p)->lock);
	(*p)->notify = notify;
	(*p)->drv_arg = arg;
	pthread_mutex_unlock(&(*p)->lock);
	return 0;
}

void
pair_leave(struct pair *p)
{
	const struct pair_dev_ops *ops;
	void *arg;

	pthread_mutex_lock(&p->lock);
	p->notify = NULL;
	p->drv_arg = NULL;
	ops = p->ops;
	arg = p->dev_arg;
	pthread_mutex_unlock(&p->lock);
	pthread_mutex_lock(&registry_lock);
	p->has_driver = false;
	free_if_unused(p);
	pthread_mutex_unlock(&registry_lock);
	if (ops != NULL && ops->left != NULL)
		ops->left(arg);
}

const struct pair_dev_ops *
pair_enter(struct pair *p, void **arg)
{
	pthread_mutex_lock(&p->lock);
	if (p->ops == NULL) {
		pthread_mutex_unlock(&p->lock);
		return NULL;
	}
	*arg = p->dev_arg;
	return p->ops;
}

void
pair_exit(struct pair *p)
{
	pthread_mutex_unlock(&p->lock);
}

void
pair_set_maker(int (*make)(const char *name))
{
	maker = make;
}
